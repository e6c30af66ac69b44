package sqllimit

import (
	"context"
	"database/sql/driver"
)

// stmt is a limited prepared statement with what each has. The rest comes in by its shape.
type stmt struct {
	driver.Stmt
	c     *conn
	text  string
	class Class
}

func (s *stmt) statement() Statement {
	return Statement{Text: s.text, Class: s.class, Tx: s.c.inTx, Prepared: true}
}

// Exec executes, for drivers without contexts.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	//lint:ignore SA1019 a driver that has nothing newer is asked this way by database/sql too
	return s.c.m.exec(context.Background(), s.statement(), func() (driver.Result, error) { return s.Stmt.Exec(args) })
}

// Query queries, for drivers without contexts.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	//lint:ignore SA1019 a driver that has nothing newer is asked this way by database/sql too
	return s.c.m.query(context.Background(), s.statement(), func() (driver.Rows, error) { return s.Stmt.Query(args) })
}

type stmtExecs struct{ s *stmt }

// ExecContext executes.
func (e stmtExecs) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return e.s.c.m.exec(ctx, e.s.statement(), func() (driver.Result, error) {
		return e.s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	})
}

type stmtQueries struct{ s *stmt }

// QueryContext queries.
func (q stmtQueries) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return q.s.c.m.query(ctx, q.s.statement(), func() (driver.Rows, error) {
		return q.s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	})
}
