// Search: what matches in names, ops, scopes, types and lines.

/** Per node the text that is searched, made when it is first wanted. */
function searchable(node) {
  if (!node.text) {
    const { scope, of } = DATA.sources[node.source];
    const parts = [node.name, node.op, node.type, node.attrs, scope && scope.join("/"), of && `gradient of ${of}`, placeOf(node.source), lineOf(node.source), ...node.roles];
    node.text = parts.filter(Boolean).join(" ").toLowerCase();
  }
  return node.text;
}

/** The nodes that have all words; `nan`, `inf` and `time` beside them mean what they say. */
function search(graph, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const has = (node, word) => (word === "nan" || word === "inf" ? Boolean(node.value && node.value[word]) || searchable(node).includes(word) : searchable(node).includes(word));
  return graph.nodes.filter((node) => node.shown && words.every((word) => has(node, word))).map((node) => node.id);
}
