package conf

// otelSpecs holds what traces are made of, and where they go.
func otelSpecs() []Spec {
	return []Spec{
		{Name: "otel_exporter", Contexts: HTTP, Min: 0, Max: 0, Opens: OtelExporter, Merge: Own,
			Doc: "Where spans go: a collector that speaks OTLP over gRPC. The block needs an endpoint. Without it nothing is recorded. Spans are sent by a goroutine of their own: no request waits for the collector. " +
				"A reload that leaves the block as it is keeps what waits; at the end of the process what waits is sent within a second."},
		{Name: "endpoint", Contexts: OtelExporter, Min: 1, Max: 1, Merge: Own, Usage: "[http:// | https://]HOST:PORT", check: checkOtelEndpoint,
			Doc: "The address of the collector, with TLS where it begins with https://."},
		{Name: "trusted_certificate", Contexts: OtelExporter, Min: 1, Max: 1, Merge: Own, Usage: "FILE", Default: "the authorities of the system",
			Doc: "A file of certificates in PEM form, in the folder of the configuration, by which that of the collector is judged. It is read when the configuration is loaded."},
		{Name: "header", Contexts: OtelExporter, Min: 2, Max: 2, Merge: Own, Repeat: true, Usage: "NAME VALUE", check: checkOtelHeader,
			Doc: "A header that goes with each call to the collector, such as authorization. Its value is told in no log, no error and no debug bundle."},
		{Name: "interval", Contexts: OtelExporter, Min: 1, Max: 1, Merge: Own, Usage: "TIME", Default: "5s", check: checkMillis,
			Doc: "How long a span waits at most before it is sent, 1ms or more."},
		{Name: "batch_size", Contexts: OtelExporter, Min: 1, Max: 1, Merge: Own, Usage: "N", Default: "512", check: numberIn(1, 1_000_000),
			Doc: "How many spans are sent with one call at most. Fewer are where they are larger than 1 MB together: collectors take 4 MB by default."},
		{Name: "batch_count", Contexts: OtelExporter, Min: 1, Max: 1, Merge: Own, Usage: "N", Default: "4", check: numberIn(1, 10_000),
			Doc: "How many batches wait at most. Spans that come when all are full are dropped, counted in limitgate_trace_spans_total, and told in the error log once a minute at most."},
		{Name: "otel_service_name", Contexts: HTTP, Min: 1, Max: 1, Merge: Own, Usage: "NAME", Default: "unknown_service:limitgate",
			Doc: "The attribute service.name of all spans."},
		{Name: "otel_resource_attr", Contexts: HTTP, Min: 2, Max: 2, Merge: Own, Repeat: true, Usage: "NAME VALUE",
			Doc: "An attribute of all spans together."},
		{Name: "otel_trace", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off | $variable", Default: "off",
			Doc: "Whether a request is recorded: with on or 1, nothing else. It is decided once a request, in the first location that it comes to, before that one's rewrite directives; redirects inside don't change it. " +
				"What is answered before a location is known, such as a return of the server, is not recorded. $otel_parent_sampled records what the client's own trace does, and split_clients $otel_trace_id … a part."},
		{Name: "otel_trace_context", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "extract | inject | propagate | ignore", Default: "ignore", check: oneOf("extract", "inject", "propagate", "ignore"),
			Doc: "What is done with traceparent and tracestate (W3C Trace Context): extract makes the span a child of the one that the client names, inject sets the fields for upstreams, in the place of what the client sent, propagate does both."},
		{Name: "otel_span_name", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TEXT", Default: "the location's",
			Doc: "The name of the span, which may have variables. Of a request that came to no location it is the method."},
		{Name: "otel_span_attr", Contexts: httpToLocation, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "NAME VALUE",
			Doc: "An attribute of the span beside those that all have; the value may have variables. Those whose names begin with http.request.header. or http.response.header. are lists."},
	}
}
