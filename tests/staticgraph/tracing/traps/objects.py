"""Objects of classes of Python's library, and what they have."""

from __future__ import annotations

import argparse
import ast
import calendar
import difflib
import email.message
import graphlib
import ipaddress
import statistics
import string
import textwrap
import types
import unittest.mock
import weakref
from typing import Any

from .trap import trap


@trap()
def a_namespace_of_arguments(t: Any) -> Any:
    options = argparse.Namespace(k=2.0)
    f = t.capture(lambda x: x * options.k)
    yield f(t.x)
    options.k = 3.0
    yield f(t.x)


@trap()
def a_parser_of_arguments(t: Any) -> Any:
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=float, default=2.0)
    f = t.capture(lambda x: x * parser.parse_args([]).k)
    yield f(t.x)
    parser.set_defaults(k=3.0)
    yield f(t.x)


@trap()
def a_wrapper_of_texts(t: Any) -> Any:
    wrapper = textwrap.TextWrapper(width=4)
    f = t.capture(lambda x: x * len(wrapper.wrap("aa bb cc dd")))
    yield f(t.x)
    wrapper.width = 20
    yield f(t.x)


@trap()
def a_formatter(t: Any) -> Any:
    class Own(string.Formatter):
        def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
            return k

    k = 2.0
    one = Own()
    f = t.capture(lambda x: x * float(one.format("{a}")))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_library_object_in_an_object(t: Any) -> Any:
    class Own:
        def __init__(self) -> None:
            self.template = string.Template("$k")

    one = Own()
    f = t.capture(lambda x: x * float(one.template.substitute(k="2")))
    yield f(t.x)
    one.template.template = "${k}5"
    yield f(t.x)


@trap()
def a_library_object_in_a_list(t: Any) -> Any:
    templates = [string.Template("$k")]
    f = t.capture(lambda x: x * sum(float(one.substitute(k="2")) for one in templates))
    yield f(t.x)
    templates[0].template = "${k}5"
    yield f(t.x)


@trap()
def a_subclass_of_a_library_class(t: Any) -> Any:
    class Own(string.Template):
        delimiter = "$"

    template = Own("$k")
    f = t.capture(lambda x: x * float(template.substitute(k="2")))
    yield f(t.x)
    template.template = "${k}5"
    yield f(t.x)


@trap()
def the_parts_of_a_library_object(t: Any) -> Any:
    message = email.message.Message()
    message["k"] = "2"
    f = t.capture(lambda x: x * float(message["k"]))
    yield f(t.x)
    message.replace_header("k", "3")
    yield f(t.x)


@trap()
def a_year_of_a_calendar(t: Any) -> Any:
    one = calendar.Calendar(firstweekday=0)
    f = t.capture(lambda x: x * next(one.iterweekdays()))
    yield f(t.x)
    one.setfirstweekday(3)
    yield f(t.x)


@trap()
def a_matcher_of_sequences(t: Any) -> Any:
    one = difflib.SequenceMatcher(None, "abcd", "bcde")
    f = t.capture(lambda x: x * one.ratio())
    yield f(t.x)
    one.set_seq2("xyz")
    yield f(t.x)


@trap()
def an_order_of_a_graph(t: Any) -> Any:
    one: Any = graphlib.TopologicalSorter({"a": ["b"]})
    f = t.capture(lambda x: x * len(one._node2info))
    yield f(t.x)
    one.add("c")
    yield f(t.x)


@trap()
def a_mock(t: Any) -> Any:
    one = unittest.mock.Mock(return_value=2.0)
    f = t.capture(lambda x: x * one())
    yield f(t.x)
    one.return_value = 3.0
    yield f(t.x)


@trap()
def calls_of_a_mock(t: Any) -> Any:
    one = unittest.mock.Mock(return_value=2.0)
    f = t.capture(lambda x: x * one())
    f(t.x)
    f(t.x)
    yield one.call_count


@trap()
def a_simple_namespace_in_another(t: Any) -> Any:
    one = types.SimpleNamespace(a=types.SimpleNamespace(k=2.0))
    f = t.capture(lambda x: x * one.a.k)
    yield f(t.x)
    one.a.k = 3.0
    yield f(t.x)


@trap()
def an_address(t: Any) -> Any:
    one: Any = ipaddress.ip_address("10.0.0.1")
    f = t.capture(lambda x: x * (int(one) & 0xFF))
    yield f(t.x)
    one._ip += 1
    yield f(t.x)


@trap()
def a_normal_distribution(t: Any) -> Any:
    one: Any = statistics.NormalDist(1.0, 2.0)
    f = t.capture(lambda x: x * one.mean)
    yield f(t.x)
    one._mu = 5.0
    yield f(t.x)


@trap()
def a_tree_of_code(t: Any) -> Any:
    one: Any = ast.parse("2.0", mode="eval")
    f = t.capture(lambda x: x * one.body.value)
    yield f(t.x)
    one.body.value = 3.0
    yield f(t.x)


@trap()
def a_dict_with_weak_keys(t: Any) -> Any:
    class Own: ...

    key = Own()
    table: Any = weakref.WeakKeyDictionary({key: 2.0})
    f = t.capture(lambda x: x * table[key])
    yield f(t.x)
    table[key] = 3.0
    yield f(t.x)


@trap()
def a_dict_with_weak_values(t: Any) -> Any:
    class Own: ...

    one = Own()
    table: Any = weakref.WeakValueDictionary({"k": one})
    f = t.capture(lambda x: x * (1.0 + len(table)))
    yield f(t.x)
    del one
    yield f(t.x)


@trap()
def a_weak_reference_dies(t: Any) -> Any:
    class Own: ...

    one = [Own()]
    reference = weakref.ref(one[0])
    f = t.capture(lambda x: x * (1.0 if reference() is None else 2.0))
    yield f(t.x)
    one.clear()
    yield f(t.x)


@trap()
def a_weak_method(t: Any) -> Any:
    class Own:
        k = 2.0

        def get(self) -> float:
            return self.k

    one = Own()
    reference: Any = weakref.WeakMethod(one.get)
    f = t.capture(lambda x: x * reference()())
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_weak_proxy(t: Any) -> Any:
    class Own:
        k = 2.0

    one = Own()
    proxy: Any = weakref.proxy(one)
    f = t.capture(lambda x: x * proxy.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_library_object_in_a_list_of_another(t: Any) -> Any:
    one: Any = string.Formatter()
    one.templates = [string.Template("$k")]

    def joined(self: Any) -> str:
        return "".join(each.template for each in self.templates)

    joined.__code__ = joined.__code__.replace(co_filename=string.__file__)
    f = t.capture(lambda x: x * len(joined(one)))
    yield f(t.x)
    one.templates[0].template = "${k}5"
    yield f(t.x)
