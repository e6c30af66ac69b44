package conf

// decisionSpecs holds what makes decisions for other proxies.
func decisionSpecs() []Spec {
	return []Spec{
		{Name: "limit_decision", Beyond: true, Contexts: httpToLocation, Min: 0, Max: 2, Usage: "[from=original | from=ingress | from=forwarded | from=request] [header]",
			check: read(ReadDecision),
			Doc: "Requests are questions of another proxy, whether the request of its client may pass: they go through everything but try_files and the content, as that request would, and the " +
				"answer is 200, or what the limits make of it, with Retry-After and limit_headers. Peers of set_real_ip_from say what is asked about, others ask for themselves. original reads " +
				"X-Original-URI and X-Original-Method, which nginx is told to send; ingress X-Original-URL and X-Original-Method of ingress-nginx; forwarded X-Forwarded-Uri, -Method, -Host and -Proto " +
				"of Traefik and Caddy; request nothing, the question has the method and the path of what it asks about. Without from= it is the one of the first three that names a path, and 400 where " +
				"two name one and do not say the same. In a server, or above, the request that is asked about also finds its server and location; in a location the path of the question has chosen that. header answers 403 " +
				"instead of what nginx's auth_request makes 500 of, and X-Limit-Verdict and X-Limit-Status say the rest. limit_conn counts nothing here: a decision is over at once."},
	}
}
