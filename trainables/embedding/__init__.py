"""Parts of node embeddings: walks, pairs, tables kept outside the graph, link prediction."""
