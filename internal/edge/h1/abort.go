package h1

// AbortBody implements request.Stream.
func (x *exchange) AbortBody() { _ = x.c.nc.SetReadDeadline(longAgo()) }
