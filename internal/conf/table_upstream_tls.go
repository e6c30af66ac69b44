package conf

// upstreamTLSSpecs holds TLS towards upstreams, for the directives of a family: prefix is "proxy_ssl_" or "grpc_ssl_".
func upstreamTLSSpecs(prefix string) []Spec {
	relative := " Relative names belong to the folder of the configuration file."
	return []Spec{
		{Name: prefix + "certificate", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "FILE",
			Doc: "The certificate in PEM form that is shown to upstreams which ask for one. A name with variables is read for each connection." + relative},
		{Name: prefix + "certificate_key", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "FILE",
			Doc: "The private key of " + prefix + "certificate."},
		{Name: prefix + "password_file", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "FILE",
			Doc: "Passwords of the private key, one in a line, tried one after the other."},
		{Name: prefix + "ciphers", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "CIPHERS", Default: "DEFAULT",
			Doc: "The cipher suites up to TLS 1.2, as in ssl_ciphers; those of TLS 1.3 are always there."},
		{Name: prefix + "protocols", Contexts: httpToLocation, Min: 1, Max: Any, Usage: "[TLSv1] [TLSv1.1] [TLSv1.2] [TLSv1.3]",
			Default: "TLSv1.2 TLSv1.3", check: read(ReadProtocols), Doc: "The versions of the protocol that are spoken with upstreams."},
		{Name: prefix + "name", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "NAME", Default: "the host of the URL",
			Doc: "The name that an upstream's certificate must be for, and that is asked for with " + prefix + "server_name. NAME may hold variables."},
		{Name: prefix + "server_name", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether upstreams are told the name (SNI)."},
		{Name: prefix + "session_reuse", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether sessions with upstreams are taken up again: one that is of the same address, name and settings."},
		{Name: prefix + "trusted_certificate", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "FILE",
			Doc: "The certificates in PEM form of those who may issue upstreams' certificates." + relative},
		{Name: prefix + "verify", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether an upstream must have a certificate that is trusted and for its name. Otherwise another one is asked, or the answer is 502."},
		{Name: prefix + "verify_depth", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "NUMBER", Default: "1", check: checkNumber,
			Doc: "How many certificates may stand between an upstream's and one that is trusted and issued itself."},
		{Name: prefix + "crl", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "FILE",
			Doc: "Lists in PEM form of what was revoked of upstreams' certificates, as ssl_crl has of clients'."},
		{Name: prefix + "conf_command", Contexts: httpToLocation, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "NAME VALUE", check: checkConfCommand, Doc: confCommandDoc},
	}
}
