package conf

// http2Specs holds how HTTP/2 is spoken with clients.
func http2Specs() []Spec {
	return []Spec{
		{Name: "http2", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether HTTP/2 is spoken, beside HTTP/1, on the addresses of the server: where TLS is spoken it is offered to clients that name the server, elsewhere it " +
				"is taken from those that begin with it, as the default server of the address has it. Each stream is a request like any other, and counts in limit_conn."},
		{Name: "http2_max_concurrent_streams", Contexts: httpToServer, Min: 1, Max: 1, Usage: "NUMBER", Default: "128", check: checkNumber,
			Doc: "How many requests of one HTTP/2 connection may be under way. One more is refused, and a client that goes on is cut off."},
		{Name: "http2_body_preread_size", Contexts: httpToServer, Min: 1, Max: 1, Usage: "SIZE", Default: "64k", check: checkSize,
			Doc: "How much of a request body an HTTP/2 client may send before anybody reads it, for instance while the request is delayed."},
		{Name: "http2_chunk_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "8k", check: checkSize,
			Doc: "The largest piece of a body that is sent on an HTTP/2 stream before it is another one's turn."},
	}
}

// http2AcceptedRows are directives that nginx has for HTTP/2, or had, and there is nothing to tune here.
func http2AcceptedRows() []acceptedRow {
	return []acceptedRow{
		{[]string{"http2_recv_buffer_size"}, HTTP, 1, 1, checkSize, Accepted, "buffers are sized by need"},
		{[]string{"http2_pool_size"}, httpToServer, 1, 1, checkSize, Accepted, "memory is managed by the run time"},
		{[]string{"http2_streams_index_size"}, httpToServer, 1, 1, checkNumber, Accepted, "tables grow with what they hold"},
		{[]string{"http2_idle_timeout"}, httpToServer, 1, 1, checkObsolete("keepalive_timeout"), Silent, "obsolete in nginx too: keepalive_timeout counts"},
		{[]string{"http2_recv_timeout"}, httpToServer, 1, 1, checkObsolete("client_header_timeout"), Silent, "obsolete in nginx too: client_header_timeout counts"},
		{[]string{"http2_max_requests"}, httpToServer, 1, 1, checkObsolete("keepalive_requests"), Silent, "obsolete in nginx too: keepalive_requests counts"},
		{[]string{"http2_max_field_size", "http2_max_header_size"}, httpToServer, 1, 1, checkObsolete("large_client_header_buffers"), Silent,
			"obsolete in nginx too: large_client_header_buffers counts"},
		{[]string{"http2_max_concurrent_pushes"}, httpToServer, 1, 1, checkObsolete(""), Silent, "obsolete in nginx too: nothing is pushed"},
		{[]string{"http2_push", "http2_push_preload"}, httpToLocation, 1, 1, checkObsolete(""), Silent, "obsolete in nginx too: nothing is pushed"},
	}
}

// checkObsolete says what nginx says of a directive that it does nothing for any more (ngx_http_v2_obsolete).
func checkObsolete(instead string) check {
	return func(c *checker, d *Directive) {
		msg := `the "` + d.Name + `" directive is obsolete, `
		if instead == "" {
			msg += "ignored"
		} else {
			msg += `use the "` + instead + `" directive instead`
		}
		c.errs.Mention(d.Pos, msg, "")
	}
}
