// Package span is one request's place in a trace: who it is and whose child (the W3C's traceparent and tracestate), and the OpenTelemetry
// span of it, written as OTLP encodes one while the request goes on. It stands between the phases of a request and whoever sends spans
// away; it sends nothing, decides nothing, and makes no garbage once its memory is there.
package span
