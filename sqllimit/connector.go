package sqllimit

import (
	"context"
	"database/sql/driver"
	"io"
)

// Wrap limits the statements on the connections of a connector. What it gives is for sql.OpenDB.
func (m *Middleware) Wrap(c driver.Connector) driver.Connector {
	w := &connector{Connector: c, m: m}
	if closer, ok := c.(io.Closer); ok {
		return struct {
			*connector
			io.Closer
		}{w, closer}
	}
	return w
}

// connector makes limited connections. Its driver is the wrapped one's.
type connector struct {
	driver.Connector
	m *Middleware
}

// Connect makes a connection.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	in, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return wrapConn(&conn{Conn: in, m: c.m}), nil
}

// Unwrap gives the connection that the driver made, where c is a limited one, and else c: in sql.Conn.Raw.
func Unwrap(c any) any {
	if w, ok := c.(interface{ unwrap() driver.Conn }); ok {
		return w.unwrap()
	}
	return c
}

// is tells whether a driver's value can do what T says.
func is[T any](x any) bool {
	_, ok := x.(T)
	return ok
}
