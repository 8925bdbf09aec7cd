"""What is to be placed, and on what: graph, cluster, rules, models of transfers and memory."""
