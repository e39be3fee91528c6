"""Scripts on hooks and states of modules that print; they run in PyTorch and in `dynamic`."""

SCRIPTS = {
    "backward hooks": """
net = fixed(nn.Linear(2, 3))
def after(module, grad_input, grad_output):
    print("after", type(module).__name__, grad_input, grad_output)
def before(module, grad_output):
    print("before", grad_output)
first = net.register_full_backward_hook(after)
second = net.register_full_backward_pre_hook(before)
x = numbers(2, 2).requires_grad_()
net(x).sum().backward()
print(x.grad, net.weight.grad)
first.remove()
net(x).sum().backward()
second.remove()
net(x).sum().backward()
print(x.grad)
""",
    "backward hooks that replace": """
net = fixed(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)))
net[1].register_full_backward_hook(lambda module, given, found: (given[0] * 2,))
net[2].register_full_backward_pre_hook(lambda module, given: (given[0] * 3,))
net[2].register_full_backward_pre_hook(lambda module, given: print(given), prepend=True)
x = numbers(2, 2).requires_grad_()
net(x).sum().backward()
print(x.grad, net[2].weight.grad)
""",
    "backward hooks on several tensors": """
class Two(nn.Module):
    def forward(self, a, b, scale, c=None):
        return a * b * scale, (b + 1).sum() if c is None else b * c, 5
two = Two()
two.register_full_backward_hook(lambda m, given, found: print(len(given), given, found))
a, b = numbers(2).requires_grad_(), numbers(2) + 1
first, second, five = two(a, b, 3.0)
print(five)
(first.sum() * 2).backward()
b.requires_grad_()
first, second, five = two(a, b, 3.0)
(first.sum() + second).backward()
print(a.grad, b.grad)
two(a, b, 3.0, c=a)[1].sum().backward()
""",
    "backward hooks without inputs": """
import warnings
net = fixed(nn.Linear(2, 1))
net.register_full_backward_hook(lambda m, given, found: print(given, found))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    net(numbers(3, 2)).sum().backward()
print(str(caught[0].message)[:90])
""",
    "backward hooks and forward hooks": """
net = fixed(nn.Linear(2, 1))
net.register_forward_pre_hook(lambda m, args: print("forward pre"))
net.register_forward_hook(lambda m, args, out: print("forward"))
net.register_full_backward_hook(lambda m, given, found: print("backward"))
net(numbers(1, 2).requires_grad_()).sum().backward()
with torch.no_grad():
    print(net(numbers(1, 2)).requires_grad)
""",
    "wrong backward hooks": """
for hook, pre in ((lambda m, a, b: (None, None), None), (None, lambda m, a: (a[0], a[0]))):
    net = fixed(nn.Linear(2, 1))
    if hook is not None:
        net.register_full_backward_hook(hook)
    else:
        net.register_full_backward_pre_hook(pre)
    try:
        net(numbers(1, 2).requires_grad_()).sum().backward()
    except RuntimeError as error:
        print(error)
net = fixed(nn.Linear(2, 1))
net.register_full_backward_hook(lambda m, given, found: given)
y = net(numbers(1, 2).requires_grad_())
try:
    y += 1
except RuntimeError as error:
    print(str(error)[:60])
""",
    "state dict hooks": """
net = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
net.register_state_dict_pre_hook(lambda m, prefix, keep: print("pre", repr(prefix), keep))
net[1].register_state_dict_post_hook(lambda m, state, prefix, meta: print(prefix, list(state)))
def drop(m, state, prefix, meta):
    del state["1.num_batches_tracked"]
net.register_state_dict_post_hook(drop)
state = net.state_dict()
print(list(state))
def load_pre(m, state, prefix, meta, strict, missing, unexpected, errors):
    print("load pre", repr(prefix), strict, missing, unexpected, errors)
    state["1.num_batches_tracked"] = torch.tensor(7)
net.register_load_state_dict_pre_hook(load_pre)
net[0].register_load_state_dict_post_hook(lambda m, keys: print("load post 0", keys))
def load_post(m, keys):
    print("load post", keys)
    keys.missing_keys.clear()
net.register_load_state_dict_post_hook(load_post)
print(net.load_state_dict(state), net[1].num_batches_tracked)
del state["0.bias"]
print(net.load_state_dict(state, strict=False))
""",
    "wrong state dict hooks": """
net = nn.Linear(1, 1)
handle = net.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
try:
    net.state_dict()
except RuntimeError as error:
    print(error)
handle.remove()
net.register_load_state_dict_post_hook(lambda m, keys: keys)
try:
    net.load_state_dict(net.state_dict())
except (RuntimeError, AssertionError) as error:
    print(error)
""",
    "extra state": """
class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.weight = nn.Parameter(torch.ones(1))
    def get_extra_state(self):
        return {"count": self.count}
    def set_extra_state(self, state):
        self.count = state["count"]
net = nn.Sequential(Counting(), nn.ReLU())
net[0].count = 3
state = net.state_dict()
print(state)
other = nn.Sequential(Counting(), nn.ReLU())
print(other.load_state_dict(state), other[0].count)
del state["0._extra_state"]
print(other.load_state_dict(state, strict=False))
try:
    other.load_state_dict(state)
except RuntimeError as error:
    print(error)
try:
    nn.ReLU().load_state_dict({"_extra_state": 1})
except RuntimeError as error:
    print(error)
""",
    "assigned states": """
net = nn.Linear(2, 1)
net.bias.requires_grad_(False)
weight, bias = torch.zeros(1, 2), nn.Parameter(torch.ones(1))
print(net.load_state_dict({"weight": weight, "bias": bias}, assign=True))
print(net.weight, net.bias, net.bias is bias, isinstance(net.weight, nn.Parameter))
weight[0] = 5
print(net.weight)
net.double()
net.load_state_dict({"weight": torch.zeros(1, 2), "bias": torch.ones(1)}, assign=True)
print(net.weight.dtype)
""",
    "unexpected keys": """
net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
state = net.state_dict()
state["0.more"] = state["extra"] = state["2.weight"] = state["1.weight.x"] = torch.ones(1)
try:
    net.load_state_dict(state)
except RuntimeError as error:
    print(error)
del state["0.bias"]
print(net.load_state_dict(state, strict=False))
""",
}
