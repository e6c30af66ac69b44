package conf

// storeSpecs holds what instances share.
func storeSpecs() []Spec {
	return []Spec{
		{Name: "limit_store", Beyond: true, Contexts: HTTP, Min: 2, Max: 9, Merge: Own, Repeat: true,
			Usage: "NAME URL [mode=strict | lease] [lease=N] [timeout=TIME] [prefix=TEXT] [user=NAME] [password_file=FILE | password_env=NAME] [ca=FILE]",
			check: (*checker).checkStore,
			Doc: "Declares a store, a Redis or Valkey, in which zones with store=NAME live, so that one limit holds over all instances that use it. URL is redis://HOST:PORT, unix:///PATH, or redis+sentinel://HOST:PORT/MASTER; rediss is with TLS, by the authorities of the system or of ca=. " +
				"Several addresses, with commas between them, are of a cluster or of Sentinels; /N at the end is the number of a database. The password is read from a file or from the environment, never from the configuration, and files are relative to the folder of that. " +
				"In mode=strict, the default, each decision is one call, and all that is decided lies in the store. " +
				"With mode=lease an instance borrows requests of a busy key in batches, lease=N at most (a tenth of what its limit lets pass at once by default), and spends them in memory: far fewer calls, and never more than the limit; " +
				"what one instance has borrowed another may be refused meanwhile. A call may take TIME, 50ms by default. prefix, lg by default, begins the names of all keys. " +
				"Nothing is called while the configuration is checked, and a store that is down does not keep the gateway from starting. When the store does not answer in time, " +
				"each limit does what its fail= says: open lets requests pass, closed refuses them with 503 whatever the limit's status is, because an outage is not the client's doing, and local goes on with this " +
				"instance's share, the rate and burst divided by the instances that were last seen alive, from the debt that was last known; without fail= it is local once it is known how many instances there are, and open until then. " +
				"After a few failures the store is not asked for a while. What is decided without it is told in the error log, once a second, and in $limit_store_status."},
	}
}
