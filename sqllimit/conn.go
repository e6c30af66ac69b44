package sqllimit

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/limitgate/limitgate/internal/admit"
)

// conn is a limited connection with what each has. The rest comes in by its shape. As any driver.Conn it belongs to one goroutine at
// a time.
type conn struct {
	driver.Conn
	m    *Middleware
	inTx bool
	open *tx // the one that is not over
}

func (c *conn) unwrap() driver.Conn { return c.Conn }

// statement describes a text on this connection.
func (c *conn) statement(text string) Statement {
	return Statement{Text: text, Class: c.m.classify(text), Tx: c.inTx}
}

// Prepare prepares a statement.
func (c *conn) Prepare(text string) (driver.Stmt, error) {
	in, err := c.Conn.Prepare(text)
	return c.prepared(text, in, err)
}

func (c *conn) prepared(text string, in driver.Stmt, err error) (driver.Stmt, error) {
	if err != nil {
		return nil, err
	}
	return wrapStmt(&stmt{Stmt: in, c: c, text: text, class: c.m.classify(text)}), nil
}

// Begin begins a transaction.
func (c *conn) Begin() (driver.Tx, error) {
	//lint:ignore SA1019 a driver that has nothing newer is asked this way by database/sql too
	return c.transaction(context.Background(), func() (driver.Tx, error) { return c.Conn.Begin() })
}

// transaction begins a transaction within its limits, which go on until it ends.
func (c *conn) transaction(ctx context.Context, run func() (driver.Tx, error)) (driver.Tx, error) {
	o := Outcome{Statement: Statement{Class: Transaction}, Err: errPanicked}
	v, err := c.m.begin(ctx, o.Statement)
	if err != nil {
		return nil, err
	}
	began := false
	defer func() {
		if !began && v != nil {
			c.m.end(ctx, v, o)
		}
	}()
	in, err := run()
	if o.Err = err; err != nil {
		return nil, err
	}
	began = true
	c.inTx = true
	c.open = &tx{Tx: in, c: c, visit: v}
	return c.open, nil
}

// Close closes the connection, and with it a transaction that nobody ended, also where the driver panics.
func (c *conn) Close() error {
	defer func() {
		if c.open != nil {
			c.open.over(driver.ErrBadConn)
		}
	}()
	return c.Conn.Close()
}

// tx is a limited transaction.
type tx struct {
	driver.Tx
	c     *conn
	visit *admit.Visit // nil: nobody counts it
}

// Commit commits. The transaction is over then, also where the driver panics.
func (t *tx) Commit() error {
	err := errPanicked
	defer func() { t.over(err) }()
	err = t.Tx.Commit()
	return err
}

// Rollback rolls back.
func (t *tx) Rollback() error {
	err := errPanicked
	defer func() { t.over(errors.Join(errRolledBack, err)) }()
	err = t.Tx.Rollback()
	return err
}

// errRolledBack is the outcome of a transaction that was rolled back.
var errRolledBack = errors.New("rolled back")

// over ends the transaction, once.
func (t *tx) over(err error) {
	if t.c.open != t {
		return
	}
	t.c.inTx, t.c.open = false, nil
	if t.visit != nil {
		t.c.m.end(context.Background(), t.visit, Outcome{Statement{Class: Transaction}, err})
	}
}

// What follows is each one thing that a connection may be able to do beyond driver.Conn, where that needs more than being handed on.

// What drivers had before there were contexts.
type (
	execer interface {
		Exec(text string, args []driver.Value) (driver.Result, error)
	}
	queryer interface {
		Query(text string, args []driver.Value) (driver.Rows, error)
	}
	columnConverter interface {
		ColumnConverter(index int) driver.ValueConverter
	}
)

type execs struct{ c *conn }

// ExecContext executes a text.
func (e execs) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c := e.c
	return c.m.exec(ctx, c.statement(text), func() (driver.Result, error) {
		if in, ok := c.Conn.(driver.ExecerContext); ok {
			return in.ExecContext(ctx, text, args)
		}
		values, err := plain(ctx, args)
		if err != nil {
			return nil, err
		}
		return c.Conn.(execer).Exec(text, values)
	})
}

type queries struct{ c *conn }

// QueryContext queries by a text.
func (q queries) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c := q.c
	return c.m.query(ctx, c.statement(text), func() (driver.Rows, error) {
		if in, ok := c.Conn.(driver.QueryerContext); ok {
			return in.QueryContext(ctx, text, args)
		}
		values, err := plain(ctx, args)
		if err != nil {
			return nil, err
		}
		return c.Conn.(queryer).Query(text, values)
	})
}

// plain gives values as drivers without contexts take them.
func plain(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("the driver has no named parameters")
		}
		values[i] = a.Value
	}
	return values, ctx.Err()
}

type prepares struct{ c *conn }

// PrepareContext prepares a statement.
func (p prepares) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	in, err := p.c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	return p.c.prepared(text, in, err)
}

type begins struct{ c *conn }

// BeginTx begins a transaction.
func (b begins) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return b.c.transaction(ctx, func() (driver.Tx, error) { return b.c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o) })
}
