"""Parts of node embeddings.

walks: random walks, drawn once and cached
processes: processes that share out preprocessing
pairs: training pairs of walks, and their containers
minibatch: pairs with sampled neighbours and negatives
tables: embeddings kept outside the graph
link_split: edges held out to be predicted
link_prediction: AUC of that prediction
"""
