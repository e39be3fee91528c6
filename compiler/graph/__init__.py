"""The computation graph: symbolic expressions, and the networkx DAG that they make."""
