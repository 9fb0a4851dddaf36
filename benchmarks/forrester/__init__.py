"""One search on the Forrester function, where a raw quantile bound gets stuck beside the minimum."""
