package sqllimit

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// fake is a driver whose connections can do everything, and which keeps what was called.
type fake struct {
	calls  []string
	fails  map[string]error // by call
	panics string           // a call
	rows   int              // in each result
	checks func()           // in each execution
	held   atomic.Int64     // open rows
}

func (f *fake) call(name string) error {
	f.calls = append(f.calls, name)
	if f.panics == name {
		panic("the driver broke")
	}
	return f.fails[name]
}

func (f *fake) Connect(context.Context) (driver.Conn, error) { return &fakeConn{f}, f.call("Connect") }
func (f *fake) Driver() driver.Driver                        { return nil }
func (f *fake) Close() error                                 { return f.call("Connector.Close") }

type fakeConn struct{ f *fake }

func (c *fakeConn) Prepare(string) (driver.Stmt, error) {
	return &fakeStmt{c.f}, c.f.call("Prepare")
}
func (c *fakeConn) Close() error              { return c.f.call("Close") }
func (c *fakeConn) Begin() (driver.Tx, error) { return &fakeTx{c.f}, c.f.call("Begin") }
func (c *fakeConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if c.f.checks != nil {
		c.f.checks()
	}
	return driver.RowsAffected(1), c.f.call("ExecContext")
}
func (c *fakeConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return c.f.result("QueryContext")
}
func (c *fakeConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return &fakeStmt{c.f}, c.f.call("PrepareContext")
}
func (c *fakeConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return &fakeTx{c.f}, c.f.call("BeginTx")
}
func (c *fakeConn) Ping(context.Context) error               { return c.f.call("Ping") }
func (c *fakeConn) ResetSession(context.Context) error       { return c.f.call("ResetSession") }
func (c *fakeConn) IsValid() bool                            { return c.f.call("IsValid") == nil }
func (c *fakeConn) CheckNamedValue(*driver.NamedValue) error { return c.f.call("CheckNamedValue") }

// oldConn is a connection of a driver from before there were contexts.
type oldConn struct{ f *fake }

func (c *oldConn) Prepare(string) (driver.Stmt, error) { return &oldStmt{c.f}, c.f.call("Prepare") }
func (c *oldConn) Close() error                        { return c.f.call("Close") }
func (c *oldConn) Begin() (driver.Tx, error)           { return &fakeTx{c.f}, c.f.call("Begin") }
func (c *oldConn) Exec(string, []driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), c.f.call("Exec")
}
func (c *oldConn) Query(string, []driver.Value) (driver.Rows, error) { return c.f.result("Query") }

type oldStmt struct{ f *fake }

func (s *oldStmt) Close() error  { return s.f.call("Stmt.Close") }
func (s *oldStmt) NumInput() int { return -1 }
func (s *oldStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.f.call("Stmt.Exec")
}
func (s *oldStmt) Query([]driver.Value) (driver.Rows, error) { return s.f.result("Stmt.Query") }

type fakeStmt struct{ f *fake }

func (s *fakeStmt) Close() error  { return s.f.call("Stmt.Close") }
func (s *fakeStmt) NumInput() int { return -1 }
func (s *fakeStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.f.call("Stmt.Exec")
}
func (s *fakeStmt) Query([]driver.Value) (driver.Rows, error) { return s.f.result("Stmt.Query") }
func (s *fakeStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), s.f.call("Stmt.ExecContext")
}
func (s *fakeStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return s.f.result("Stmt.QueryContext")
}
func (s *fakeStmt) CheckNamedValue(*driver.NamedValue) error {
	return s.f.call("Stmt.CheckNamedValue")
}
func (s *fakeStmt) ColumnConverter(int) driver.ValueConverter {
	_ = s.f.call("Stmt.ColumnConverter")
	return driver.DefaultParameterConverter
}

type fakeTx struct{ f *fake }

func (t *fakeTx) Commit() error   { return t.f.call("Commit") }
func (t *fakeTx) Rollback() error { return t.f.call("Rollback") }

func (f *fake) result(name string) (driver.Rows, error) {
	if err := f.call(name); err != nil {
		return nil, err
	}
	f.held.Add(1)
	return &fakeRows{f, f.rows}, nil
}

type fakeRows struct {
	f    *fake
	left int
}

func (r *fakeRows) Columns() []string { return []string{"a"} }
func (r *fakeRows) Close() error {
	r.f.held.Add(-1)
	return r.f.call("Rows.Close")
}
func (r *fakeRows) Next(dest []driver.Value) error {
	if err := r.f.fails["Next"]; err != nil {
		return err
	}
	if r.left--; r.left < 0 {
		return io.EOF
	}
	dest[0] = int64(r.left)
	return nil
}
func (r *fakeRows) HasNextResultSet() bool { _ = r.f.call("HasNextResultSet"); return false }
func (r *fakeRows) NextResultSet() error {
	return cmp.Or(r.f.call("NextResultSet"), io.EOF)
}
func (r *fakeRows) ColumnTypeScanType(int) reflect.Type        { return reflect.TypeFor[int64]() }
func (r *fakeRows) ColumnTypeDatabaseTypeName(int) string      { return "FAKE" }
func (r *fakeRows) ColumnTypeLength(int) (int64, bool)         { return 7, true }
func (r *fakeRows) ColumnTypeNullable(int) (nullable, ok bool) { return true, true }
func (r *fakeRows) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) {
	return 5, 2, true
}

var errFake = errors.New("the database said no")

func limiter(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func with(t testing.TB, c Config) *Middleware {
	t.Helper()
	m, err := NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// free is how much of a limit is left.
func free(t testing.TB, l *limitgate.Limiter, key string) int64 {
	t.Helper()
	d, err := l.CheckAt(context.Background(), limitgate.Now(), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return 0
	}
	return d.Remaining + 1
}
