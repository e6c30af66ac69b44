package conf

// proxyRuleSpecs holds what changes a request on its way to an upstream, and the answer on its way back.
func proxyRuleSpecs() []Spec {
	return append(proxyRequestSpecs(), proxyAnswerSpecs()...)
}

func proxyRequestSpecs() []Spec {
	return []Spec{
		{Name: "proxy_method", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "METHOD",
			Doc: "The method of requests to the upstream, in place of the client's. May hold variables."},
		{Name: "proxy_set_body", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TEXT",
			Doc: "The body of requests to the upstream, in place of the client's. May hold variables."},
		{Name: "proxy_pass_request_body", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether the client's body is passed on. With off Content-Length still tells its length: set it to an empty text with proxy_set_header."},
		{Name: "proxy_pass_request_headers", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether the client's header lines are passed on. What proxy_set_header sets is sent in any case."},
		{Name: "proxy_bind", Contexts: httpToLocation, Min: 1, Max: 2, Usage: "ADDRESS[:PORT] | off", check: checkProxyBind,
			Doc: "The local address of connections to the upstream. May hold variables: an empty value leaves the choice to the system, as off does. " +
				"transparent is not here."},
		{Name: "proxy_socket_keepalive", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether the system probes connections to the upstream that are quiet (SO_KEEPALIVE)."},
	}
}

func proxyAnswerSpecs() []Spec {
	return []Spec{
		{Name: "proxy_redirect", Contexts: httpToLocation, Min: 1, Max: 2, Merge: List, Repeat: true, Usage: "off | default | FROM TO", Default: "default",
			check: checkProxyRedirect,
			Doc: "Rewrites Location and Refresh of an answer: where the address begins with FROM, TO takes that place. FROM may be an expression after ~ or " +
				"~*; TO then takes the place of the whole address. Both may hold variables. The first that fits acts. default turns what proxy_pass " +
				"points to into the location's prefix."},
		{Name: "proxy_cookie_domain", Contexts: httpToLocation, Min: 1, Max: 2, Merge: List, Repeat: true, Usage: "off | DOMAIN TO", Default: "off", check: checkCookieRule,
			Doc: "Rewrites the attribute domain of cookies that an answer sets. DOMAIN compares without regard to case and to a dot at the front, or is an " +
				"expression after ~. Both may hold variables. The first that fits acts."},
		{Name: "proxy_cookie_path", Contexts: httpToLocation, Min: 1, Max: 2, Merge: List, Repeat: true, Usage: "off | PATH TO", Default: "off", check: checkCookieRule,
			Doc: "Rewrites the attribute path of cookies that an answer sets: where it begins with PATH, TO takes that place. PATH may be an expression after " +
				"~ or ~*. Both may hold variables. The first that fits acts."},
		{Name: "proxy_cookie_flags", Contexts: httpToLocation, Min: 1, Max: 4, Merge: List, Repeat: true, Usage: "off | COOKIE [FLAG…]", Default: "off",
			check: checkCookieFlags,
			Doc: "Adds attributes to cookies that an answer sets, or takes them away: secure, httponly, samesite=strict, samesite=lax, samesite=none, nosecure, " +
				"nohttponly, nosamesite. COOKIE is a name, or an expression after ~; it and the flags may hold variables. The first that fits acts."},
		{Name: "proxy_hide_header", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "NAME",
			Doc: "A header line of an answer that the client does not get. Date, Server, X-Pad and X-Accel-… are hidden anyway."},
		{Name: "proxy_pass_header", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "NAME",
			Doc: "A header line of an answer that the client gets although it is hidden otherwise."},
		{Name: "proxy_ignore_headers", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true,
			Usage: "X-Accel-Redirect | X-Accel-Expires | X-Accel-Limit-Rate | X-Accel-Buffering | X-Accel-Charset | Expires | Cache-Control | Set-Cookie | Vary …",
			check: wordsOf("X-Accel-Redirect", "X-Accel-Expires", "Expires", "Cache-Control", "Set-Cookie", "X-Accel-Limit-Rate", "X-Accel-Buffering",
				"X-Accel-Charset", "Vary"),
			Doc: "Header lines of an answer that have no effect on the gateway itself. Those that only a cache reads are accepted."},
		{Name: "proxy_intercept_errors", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether an answer with a status that error_page names is replaced by that page."},
	}
}
