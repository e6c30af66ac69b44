package conf

// sslSpecs holds TLS towards clients.
func sslSpecs() []Spec {
	const keyHelp = " Several pairs may be given, such as one of RSA and one of ECDSA: the client's offer decides."
	return []Spec{
		{Name: "ssl_certificate", Contexts: httpToServer, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "FILE | data:PEM",
			Doc: "The certificate of the server in PEM form, with those of its issuers behind it. Relative names belong to the folder of the " +
				"configuration file. A name with variables is read for each handshake." + keyHelp},
		{Name: "ssl_certificate_key", Contexts: httpToServer, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "FILE | data:PEM",
			Doc: "The private key of the certificate given in the same place, RSA, ECDSA or Ed25519 in PEM form. It may be encrypted: see ssl_password_file."},
		{Name: "ssl_password_file", Contexts: httpToServer, Min: 1, Max: 1, Usage: "FILE",
			Doc: "Passwords of private keys, one in a line, tried one after the other. It must be readable when the configuration is loaded."},
		{Name: "ssl_protocols", Contexts: httpToServer, Min: 1, Max: Any, Usage: "[TLSv1] [TLSv1.1] [TLSv1.2] [TLSv1.3]",
			Default: "TLSv1.2 TLSv1.3", check: read(ReadProtocols),
			Doc: "The versions of the protocol that clients may use. SSLv2 and SSLv3 may be written and are never spoken."},
		{Name: "ssl_ciphers", Contexts: httpToServer, Min: 1, Max: 1, Usage: "CIPHERS", Default: "HIGH:!aNULL:!MD5",
			Doc: "The cipher suites up to TLS 1.2, in OpenSSL's language: names and classes such as ECDHE+AESGCM, joined by colons, behind ! those that are " +
				"never taken. Of the suites that are left the best for both sides is chosen, whatever their order; those of TLS 1.3 are always there. " +
				"There are no suites with DHE, CCM, ARIA, Camellia, RC4 or 3DES."},
		{Name: "ssl_ecdh_curve", Contexts: httpToServer, Min: 1, Max: 1, Usage: "auto | GROUP[:GROUP…]", Default: "auto",
			Doc: "The groups of the key exchange: X25519MLKEM768, X25519, prime256v1, secp384r1, secp521r1. The best for both sides is chosen, whatever their order."},
		{Name: "ssl_session_cache", Contexts: httpToServer, Min: 1, Max: 2, Merge: List, Repeat: true, Usage: "off | none | [builtin[:N]] [shared:NAME:SIZE]", Default: "none",
			check: (*checker).checkSessionCache,
			Doc: "Where sessions are kept for clients that come again. With shared, and with builtin, they are kept here where ssl_session_tickets is off; " +
				"otherwise the client keeps them in a ticket, whatever this says, except that off takes none."},
		{Name: "ssl_session_tickets", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether clients are given their sessions in tickets, encrypted with a key that changes every day and is kept over a reload."},
		{Name: "ssl_session_ticket_key", Contexts: httpToServer, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "FILE",
			Doc: "Keys of tickets, a file of 48 or 80 random bytes each, the same on all instances that are to take up each other's sessions. The first " +
				"one encrypts; a ticket of any of them is taken. Relative names belong to the folder of the configuration file."},
		{Name: "ssl_session_timeout", Contexts: httpToServer, Min: 1, Max: 1, Usage: "TIME", Default: "5m", check: checkSeconds,
			Doc: "How long a client may go on with a session."},
		{Name: "ssl_reject_handshake", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether handshakes that ask for this server's names, or for none that is known where it is the default server, are refused."},
		{Name: "ssl_verify_client", Contexts: httpToServer, Min: 1, Max: 1, Usage: "on | off | optional | optional_no_ca", Default: "off",
			check: oneOf("on", "off", "optional", "optional_no_ca"),
			Doc: "Whether a client must have a certificate of those of ssl_client_certificate: on refuses clients without one (496, which is 400 to the client) " +
				"and with one that is not trusted (495, likewise); optional refuses the latter alone; optional_no_ca refuses neither, as long as no more is wrong " +
				"than that the issuer is not known. What was found stands in $ssl_client_verify. A name other than the one that the connection was made for is " +
				"refused with 421. A certificate counts by the authorities of the server that answers."},
		{Name: "ssl_client_certificate", Contexts: httpToServer, Min: 1, Max: 1, Usage: "FILE",
			Doc: "The certificates in PEM form of those who may issue clients' certificates. Clients are told their names. Relative names belong to the folder " +
				"of the configuration file."},
		{Name: "ssl_trusted_certificate", Contexts: httpToServer, Min: 1, Max: 1, Usage: "FILE",
			Doc: "As ssl_client_certificate, and clients are not told the names."},
		{Name: "ssl_verify_depth", Contexts: httpToServer, Min: 1, Max: 1, Usage: "NUMBER", Default: "1", check: checkNumber,
			Doc: "How many certificates may stand between a client's and one that is trusted and issued itself."},
		{Name: "ssl_crl", Contexts: httpToServer, Min: 1, Max: 1, Usage: "FILE",
			Doc: "Lists in PEM form of what was revoked of clients' certificates and of those between. Each issuer must have one that is valid, itself too: " +
				"otherwise no certificate of it is trusted. A list is read when the configuration is loaded, and holds for connections that are there already."},
		{Name: "ssl_ocsp", Contexts: httpToServer, Min: 1, Max: 1, Usage: "off", Default: "off", check: checkOCSP,
			Doc: "Nobody is asked whether a client's certificate was revoked: on and leaf are refused, because they would let pass who should not. Use ssl_crl."},
		{Name: "ssl_conf_command", Contexts: httpToServer, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "NAME VALUE", check: checkConfCommand, Doc: confCommandDoc},
		{Name: "ssl_buffer_size", Contexts: httpToServer, Min: 1, Max: 1, Usage: "SIZE", Default: "16k", check: checkSize,
			Doc: "How much of an answer is encrypted at a time, at most 16k."},
	}
}

// sslAcceptedRows tune TLS where crypto/tls has nothing to tune.
func sslAcceptedRows() []acceptedRow {
	return []acceptedRow{
		{names: []string{"ssl_prefer_server_ciphers"}, contexts: httpToServer, min: 1, max: 1, check: checkFlag, status: Accepted,
			why: "the best suite for both sides is chosen, whoever lists it first"},
		{names: []string{"ssl_dhparam"}, contexts: httpToServer, min: 1, max: 1, status: Accepted, why: "there are no cipher suites with DHE; clients of the last ten years use ECDHE"},
		{names: []string{"ssl_stapling", "ssl_stapling_verify"}, contexts: httpToServer, min: 1, max: 1, check: checkFlag, status: Accepted,
			why: "no OCSP answers are sent along; clients ask themselves where they want them"},
		{names: []string{"ssl_stapling_file", "ssl_stapling_responder"}, contexts: httpToServer, min: 1, max: 1, status: Accepted,
			why: "no OCSP answers are sent along; clients ask themselves where they want them"},
		{names: []string{"ssl_ocsp_cache", "ssl_ocsp_responder"}, contexts: httpToServer, min: 1, max: 1, status: Accepted, why: "ssl_ocsp is off"},
		{names: []string{"ssl_certificate_cache"}, contexts: httpToServer, min: 1, max: 3, status: Accepted, why: "certificates whose names have variables are read for each handshake"},
		{names: []string{"proxy_ssl_certificate_cache", "grpc_ssl_certificate_cache"}, contexts: httpToLocation, min: 1, max: 3, status: Accepted,
			why: "certificates whose names have variables are read for each request"},
		{names: []string{"ssl_certificate_compression"}, contexts: httpToServer, min: 1, max: 1, check: checkFlag, status: Accepted, why: "certificates are sent as they are"},
		{names: []string{"ssl_early_data"}, contexts: httpToServer, min: 1, max: 1, check: checkFlag, status: Accepted, why: "early data is never taken: a client sends it again after the handshake"},
	}
}
