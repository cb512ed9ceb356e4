"""What each method of the control API does. One file holds one topic, which is given the parts that it uses."""
