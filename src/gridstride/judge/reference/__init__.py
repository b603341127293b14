"""What a case must give: the reference in float64, and how far from it a result may be."""
