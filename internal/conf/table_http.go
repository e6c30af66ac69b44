package conf

// serverSpecs holds servers, locations and what finds them.
func serverSpecs() []Spec {
	return []Spec{
		{Name: "server", Contexts: HTTP, Opens: Server, Merge: Own, Repeat: true,
			Doc: "A virtual server: what answers on the addresses of its listen directives for the names of its server_name directives."},
		{Name: "listen", Contexts: Server, Min: 1, Max: Any, Merge: Own, Repeat: true, Default: "*:80",
			Usage: "ADDRESS[:PORT] | PORT | unix:PATH [default_server] [ssl] [http2] [proxy_protocol] [backlog=N] [rcvbuf=SIZE] [sndbuf=SIZE] " +
				"[fastopen=N] [deferred] [bind] [reuseport] [ipv6only=on|off] [so_keepalive=on|off|IDLE:INTERVAL:COUNT]",
			check: (*checker).checkListen,
			Doc: "An address the server answers on: a port, an IPv4 address, an IPv6 address in brackets, a range of ports (8000-8010) or a unix " +
				"socket. The server marked default_server answers for names that no server on this address has, otherwise the first one does. " +
				"ssl speaks TLS there, for all servers of the address; http2 speaks HTTP/2 there beside HTTP/1, as the directive http2 does for a server. proxy_protocol expects a PROXY line of version 1 or 2 before the request. Options of the socket are given once for an address."},
		{Name: "server_name", Contexts: Server, Min: 1, Max: Any, Merge: Own, Repeat: true, Usage: "NAME…", Default: `""`,
			check: read(ReadServerNames),
			Doc: "The names a server answers for: exact names, names with a wildcard as the first or last label (*.example.org, example.*), " +
				".example.org for a name and all below it, an expression after ~, or \"\" for requests without a name. Exact names come first, " +
				"then the longest wildcard at the front, the longest at the end, then expressions in the order of the file."},
		{Name: "location", Contexts: Server | Location, Min: 1, Max: 2, Opens: Location, Merge: Own, Repeat: true,
			Usage: "[= | ^~ | ~ | ~*] PATTERN | @NAME", check: (*checker).checkLocation,
			Doc: "Directives for the requests whose path fits. Without a modifier and with ^~ the pattern is a prefix, with = the whole path, with ~ " +
				"an expression (~* without regard to case). An exact location ends the search; otherwise the longest prefix is remembered, and unless " +
				"that one has ^~ the first expression that fits wins over it. @NAME is reached only from inside. Expressions are RE2: without " +
				"look-around and back-references."},
		{Name: "stub_status", Contexts: Server | Location, Min: 0, Max: 1, Merge: Handler, Repeat: true, Usage: "[TEXT]",
			Doc: "Answers with the numbers of this process's connections, in nginx's form: open ones, accepted, handled and requests so far, and how many of the open ones are " +
				"in a request's head, in an answer, or between requests. GET and HEAD only. An argument has no effect."},
		{Name: "metrics", Beyond: true, Contexts: Server | Location, Min: 0, Max: 0, Merge: Handler,
			Doc: "Answers with everything that this process counts, in Prometheus's text format: decisions by zone and outcome, delays, stores, zones and how full they are, reloads, connections (docs/metrics.md). " +
				"It names zones and stores and no key, but how much is refused is nobody's business: put allow and deny beside it, or let it listen on loopback. GET and HEAD only."},
		{Name: "health", Beyond: true, Contexts: Server | Location, Min: 0, Max: 1, Merge: Handler, Usage: "[ready | live]", check: optional(oneOf("ready", "live")),
			Doc: "Answers for probes, with a short JSON text. ready, the default, is 200 where the process should get requests, and 503 with the reason while it shuts down, and while a store is down that a limit " +
				"with fail=closed needs: that limit refuses all requests. live is 200 as long as the process answers at all. Limits that the place inherits don't count there; those written beside it do. GET and HEAD only."},
		{Name: "root", Contexts: httpToIf, Min: 1, Max: 1, Usage: "PATH", Default: "html", check: (*checker).checkRoot,
			Doc: "The folder that files are served from: the path of the request is appended to it. May hold variables; relative names belong to the prefix."},
		{Name: "alias", Contexts: Location, Min: 1, Max: 1, Merge: Own, Usage: "PATH", check: (*checker).checkRoot,
			Doc: "As root, but PATH stands in place of the location's prefix. In a location with an expression PATH names the whole file and uses its captures."},
		{Name: "index", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "FILE…", Default: "index.html", check: checkIndex,
			Doc: "Files to look for, in this order, when a path ends with /. The last one may be an absolute path, to which the request is then redirected inside."},
		{Name: "types", Contexts: httpToLocation, Opens: TypesBody, Merge: List, Repeat: true,
			Doc: "Rows of TYPE EXTENSION… that say which Content-Type a file gets by its extension. A types block replaces the inherited ones."},
		{Name: "default_type", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TYPE", Default: "text/plain",
			Doc: "The Content-Type of files whose extension is in no types block, and of a return with a text."},
	}
}

// requestSpecs holds how requests are read and connections kept.
func requestSpecs() []Spec {
	return []Spec{
		{Name: "client_header_timeout", Contexts: httpToServer, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long a client may take to send the whole header of a request. After it the answer is 408."},
		{Name: "client_body_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long a client may pause between two pieces of a request body. After it the answer is 408."},
		{Name: "client_max_body_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "1m", check: checkOffset,
			Doc: "The largest request body; a larger one is answered with 413. 0 means any size. Units are k, m and g."},
		{Name: "client_header_buffer_size", Contexts: httpToServer, Min: 1, Max: 1, Usage: "SIZE", Default: "1k", check: checkSize,
			Doc: "The memory a request's header starts with. A longer header moves into large_client_header_buffers."},
		{Name: "large_client_header_buffers", Contexts: httpToServer, Min: 2, Max: 2, Usage: "NUMBER SIZE", Default: "4 8k", check: checkBuffers,
			Doc: "How many buffers of which size one header may fill. A request line longer than one buffer is answered with 414, a header line longer " +
				"than one or more lines than all hold with 400."},
		{Name: "ignore_invalid_headers", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether header lines with unusual names are left out instead of passed on. Usual are letters, digits, hyphens, and underscores as " +
				"far as underscores_in_headers allows them."},
		{Name: "underscores_in_headers", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether names of request header lines may have underscores. If not, such lines count as invalid."},
		{Name: "merge_slashes", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether several slashes in a row count as one when a path is compared with locations."},
		{Name: "keepalive_timeout", Contexts: httpToLocation, Min: 1, Max: 2, Usage: "TIME [HEADER_TIME]", Default: "75s", check: checkKeepalive,
			Doc: "How long a connection stays open without a request; 0 closes it after each answer. HEADER_TIME, in seconds, is sent as Keep-Alive: timeout=; 0 sends none."},
		{Name: "keepalive_requests", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "N", Default: "1000", check: checkNumber,
			Doc: "How many requests a connection may carry before it is closed."},
		{Name: "keepalive_time", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "1h", check: checkMillis,
			Doc: "How old a connection may be and still carry another request; after it the next answer closes it."},
		{Name: "send_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long a client may take nothing of an answer before its connection is closed."},
		{Name: "lingering_close", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "off | on | always", Default: "on", check: oneOf("off", "on", "always"),
			Doc: "Whether a connection that is to be closed is first read for a while, so that a client that is still sending gets the answer and no " +
				"reset: on does so when more may come, always in every case."},
		{Name: "lingering_time", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "30s", check: checkMillis,
			Doc: "How long a closing connection is read at most."},
		{Name: "lingering_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "5s", check: checkMillis,
			Doc: "How long a closing connection is read without anything coming."},
	}
}

// answerSpecs holds what answers are made of.
func answerSpecs() []Spec {
	return []Spec{
		{Name: "return", Contexts: rewriteIn, Min: 1, Max: 2, Merge: Own, Repeat: true, Usage: "CODE [TEXT | URL] | URL", check: read(ReadReturn),
			Doc: "Answers at once with a status from 0 to 999 and a text, or with a redirect to URL (301, 302, 303, 307 or 308; 302 if no code is given). 444 closes the connection without an answer. It acts " +
				"before limits, so what it answers is not limited."},
		{Name: "error_page", Contexts: httpToIf, Min: 2, Max: Any, Merge: List, Repeat: true, Usage: "CODE… [=[CODE]] TARGET", check: read(ReadErrorPage),
			Doc: "What is sent in place of the answers with these statuses (300 to 599): another path, a redirect or @NAME. =CODE changes the status, " +
				"= takes the one the target gives. All error_page directives of a scope replace the inherited ones."},
		{Name: "add_header", Contexts: httpToIf, Min: 2, Max: 3, Merge: List, Repeat: true, Usage: "NAME VALUE [always]", check: read(ReadAddHeader),
			Doc: "Adds a header line to answers with the statuses 200, 201, 204, 206, 301, 302, 303, 304, 307 and 308, with always to all. VALUE may hold variables; an empty value " +
				"adds nothing. All add_header directives of a scope replace the inherited ones."},
		{Name: "msie_padding", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether error pages for browsers that hide short ones, MSIE and Chrome, are made longer."},
		{Name: "server_tokens", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off | build", Default: "on", check: oneOf("off", "on", "build"),
			Doc: "Whether the version stands in the Server header and on error pages."},
	}
}
