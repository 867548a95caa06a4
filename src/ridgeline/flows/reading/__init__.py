"""What `flows.read` is made of: taking files in, restricting them to a part of their time, answering."""
