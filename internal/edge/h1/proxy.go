package h1

// readProxyHeader is filled in below once proxyproto is here.
func (c *conn) readProxyHeader() bool { return true }
