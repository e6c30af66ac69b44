// Package otlp stands at the end of spans: it sends them to a collector, as OTLP over gRPC, in batches. It takes encoded spans and looks
// at none of them; makes nobody wait; holds a bounded number, and counts what it can't hold; and repeats in nothing that it says the
// headers that let it in.
package otlp
