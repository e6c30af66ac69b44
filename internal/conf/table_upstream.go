package conf

// upstreamSpecs holds the groups of servers and what becomes of a request that one of them fails.
func upstreamSpecs() []Spec {
	return []Spec{
		{Name: "upstream", Contexts: HTTP, Min: 1, Max: 1, Opens: Upstream, Merge: Own, Repeat: true, Usage: "NAME", check: (*checker).checkUpstream,
			Doc: "A group of servers that proxy_pass can name. Requests go round among them by weight."},
		{Name: "server", Contexts: Upstream, Min: 1, Max: Any, Merge: Own, Repeat: true,
			Usage: "ADDRESS [weight=N] [max_conns=N] [max_fails=N] [fail_timeout=TIME] [slow_start=TIME] [backup] [down] [resolve]", check: checkUpstreamServer,
			Doc: "A server of the group: a host, an address or a unix socket, port 80 if none is given. After max_fails failures (1 by default, 0 turns it " +
				"off) within fail_timeout (10s) it is left out for fail_timeout. backup is used only if all others fail, down not at all. max_conns " +
				"bounds the connections to it; 0 means no bound. What counts as a failure says proxy_next_upstream. With slow_start the weight of a server " +
				"that was left out, or that resolve has found, rises evenly from nothing over TIME; not together with hash, ip_hash or random. With resolve " +
				"the name is looked up again by the resolver in force whenever its answer has run out: servers that stay keep their standing, and while " +
				"the look-up fails the last addresses hold, behind a reload too. resolve needs a zone in the block, as in nginx."},
		{Name: "least_conn", Contexts: Upstream, Merge: Own, Repeat: true, check: checkBalance,
			Doc: "Requests go to the server with the fewest connections for its weight; where several have as few, they go round among those."},
		{Name: "ip_hash", Contexts: Upstream, Merge: Own, Repeat: true, check: checkBalance,
			Doc: "Requests of a client go to the same server as long as it can be asked: the first three numbers of an IPv4 address or the whole IPv6 " +
				"address decide, as in nginx."},
		{Name: "hash", Contexts: Upstream, Min: 1, Max: 2, Merge: Own, Repeat: true, Usage: "KEY [consistent]", check: checkHash,
			Doc: "Requests of a key go to the same server as long as it can be asked. KEY is a text with variables; requests whose key is empty go round. With " +
				"consistent few keys move when servers come or go. Keys fall to the same servers as in nginx."},
		{Name: "random", Contexts: Upstream, Max: 2, Merge: Own, Repeat: true, Usage: "[two [least_conn]]", check: checkRandom,
			Doc: "Requests go to servers by lot, in proportion to their weights. With two, two servers are drawn and the one with fewer connections for its " +
				"weight is asked."},
		{Name: "zone", Contexts: Upstream, Min: 1, Max: 2, Merge: Own, Repeat: true, Usage: "NAME [SIZE]", check: (*checker).checkUpstreamZone,
			Doc: "Names memory that nginx's processes share for the upstream. Here one process serves all requests: failures and connections of a server are " +
				"counted together in any case."},
		{Name: "resolver", Contexts: httpToLocation | Upstream, Min: 1, Max: Any, Usage: "ADDRESS … [valid=TIME] [ipv4=on|off] [ipv6=on|off]", check: checkResolver,
			Doc: "The name servers for names that are looked up while requests are served: those that variables make in proxy_pass, and servers of an upstream " +
				"with resolve. They are asked in turn, over UDP, and over TCP where an answer does not fit. An answer holds as long as it says itself, or for " +
				"valid. ipv4 and ipv6 say which addresses are asked for; both by default. Names that stand in proxy_pass as they are are looked up once, when " +
				"the configuration is loaded, by the system."},
		{Name: "resolver_timeout", Contexts: httpToLocation | Upstream, Min: 1, Max: 1, Usage: "TIME", Default: "30s", check: checkMillis,
			Doc: "How long looking up a name may take. After it the answer is 502."},
		{Name: "keepalive", Contexts: Upstream, Min: 1, Max: 1, Merge: Own, Usage: "N", check: checkKeepaliveCount,
			Doc: "How many idle connections to the servers of the upstream are kept for the next requests. More may be open at a time; those beyond N are " +
				"closed after their answer."},
		{Name: "keepalive_requests", Contexts: Upstream, Min: 1, Max: 1, Merge: Own, Usage: "N", Default: "1000", check: checkNumber,
			Doc: "How many requests a kept connection to the upstream may carry before it is closed."},
		{Name: "keepalive_time", Contexts: Upstream, Min: 1, Max: 1, Merge: Own, Usage: "TIME", Default: "1h", check: checkMillis,
			Doc: "How old a kept connection to the upstream may be; after it the next answer closes it."},
		{Name: "keepalive_timeout", Contexts: Upstream, Min: 1, Max: 1, Merge: Own, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long a kept connection to the upstream stays open without a request."},
		{Name: "proxy_next_upstream", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Default: "error timeout",
			Usage: "error | timeout | invalid_header | http_500 | http_502 | http_503 | http_504 | http_403 | http_404 | http_429 | non_idempotent | off …",
			check: wordsOf("error", "timeout", "invalid_header", "non_idempotent", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404",
				"http_429", "updating", "off"),
			Doc: "When a request goes on to another server: the connection failed, the server took too long, its answer breaks the protocol, or it " +
				"answered with one of these statuses. A request that may not be repeated (POST, LOCK, PATCH) goes on only as long as nothing of it was " +
				"sent, unless non_idempotent is given. off never goes on. All but 403 and 404 count as failures of the server. updating has no effect."},
		{Name: "proxy_next_upstream_tries", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "N", Default: "0", check: checkNumber,
			Doc: "How many servers a request may be sent to in all; 0 means no bound."},
		{Name: "proxy_next_upstream_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "0", check: checkMillis,
			Doc: "For how long a request may go on to other servers, counted from the first; 0 means no bound."},
	}
}
