package conf

// grpcSpecs holds how calls are passed on.
func grpcSpecs() []Spec {
	return append([]Spec{
		{Name: "grpc_pass", Contexts: Location | IfLocation, Min: 1, Max: 1, Merge: Handler, Usage: "[grpc:// | grpcs://]ADDRESS", check: read(ReadGRPCPass),
			Doc: "Passes requests on to a gRPC server, over HTTP/2: HOST:PORT, unix:PATH, or the name of an upstream block, with or without " +
				"grpc:// before it, or with grpcs:// for TLS. Calls of all four kinds go both ways as they come, with trailers; the path goes on as it came. May hold variables."},
		{Name: "grpc_set_header", Contexts: httpToLocation, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "NAME VALUE",
			Default: "Content-Length $content_length",
			Doc: "A field of the request to the gRPC server, in place of the client's. VALUE may hold variables; with an empty value the field is not sent. " +
				"All grpc_set_header directives of a scope replace the inherited ones. TE: trailers goes on where the client says so."},
		{Name: "grpc_buffer_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "4k", check: checkSize,
			Doc: "How much the fields of an answer's head may take, and those of its trailers."},
		{Name: "grpc_bind", Contexts: httpToLocation, Min: 1, Max: 2, Usage: "ADDRESS[:PORT] | off", check: checkProxyBind,
			Doc: "The local address of connections to the gRPC server. May hold variables: an empty value leaves the choice to the system, as off does. " +
				"transparent is not here."},
		{Name: "grpc_socket_keepalive", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether the system probes connections to the gRPC server that are quiet (SO_KEEPALIVE)."},
		{Name: "grpc_connect_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long connecting to the gRPC server may take. After it the answer is 504."},
		{Name: "grpc_send_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long the gRPC server may take nothing of a request, because of its windows too, before the answer is 504."},
		{Name: "grpc_read_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long the gRPC server may send nothing of an answer: until its head from when it has the request, then between two pieces. A stream that " +
				"may be silent for longer needs a longer time here."},
	}, grpcAnswerSpecs()...)
}

func grpcAnswerSpecs() []Spec {
	return []Spec{
		{Name: "grpc_hide_header", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "NAME",
			Doc: "A field of an answer, or of its trailers, that the client does not get. Date, Server and X-Accel-… are hidden anyway."},
		{Name: "grpc_pass_header", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "NAME",
			Doc: "A field of an answer that the client gets although it is hidden otherwise."},
		{Name: "grpc_ignore_headers", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true,
			Usage: "X-Accel-Redirect | X-Accel-Expires | X-Accel-Limit-Rate | X-Accel-Buffering | X-Accel-Charset | Expires | Cache-Control | Set-Cookie | Vary …",
			check: wordsOf("X-Accel-Redirect", "X-Accel-Expires", "Expires", "Cache-Control", "Set-Cookie", "X-Accel-Limit-Rate", "X-Accel-Buffering",
				"X-Accel-Charset", "Vary"),
			Doc: "Fields of an answer that have no effect on the gateway itself. Those that only a cache reads are accepted."},
		{Name: "grpc_intercept_errors", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether an answer with an HTTP status that error_page names is replaced by that page."},
		{Name: "grpc_next_upstream", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Default: "error timeout",
			Usage: "error | timeout | invalid_header | http_500 | http_502 | http_503 | http_504 | http_403 | http_404 | http_429 | non_idempotent | off …",
			check: wordsOf("error", "timeout", "invalid_header", "non_idempotent", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404",
				"http_429", "off"),
			Doc: "When a call goes on to another server: as proxy_next_upstream. Calls are POST, so without non_idempotent only those go on of which nothing " +
				"was sent, and those that a server says it did not begin with (GOAWAY, REFUSED_STREAM); none does once its body is on its way."},
		{Name: "grpc_next_upstream_tries", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "N", Default: "0", check: checkNumber,
			Doc: "How many servers a call may be sent to in all; 0 means no bound."},
		{Name: "grpc_next_upstream_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "0", check: checkMillis,
			Doc: "For how long a call may go on to other servers, counted from the first; 0 means no bound."},
	}
}
