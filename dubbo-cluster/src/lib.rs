//! Chooses a node and saves a failed call: directories, clusters, load balancers.
