"""Models that are trained: boosted trees and small networks on the ratio to an analytical prediction, and intervals for what they say."""
