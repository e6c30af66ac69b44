package sqllimit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate"
)

// connSet tells by Go itself, not by what is generated, what a connection can do.
func connSet(c driver.Conn) (set int) {
	if _, ok := c.(driver.ExecerContext); ok {
		set |= 1
	}
	if _, ok := c.(driver.QueryerContext); ok {
		set |= 2
	}
	if _, ok := c.(driver.ConnPrepareContext); ok {
		set |= 4
	}
	if _, ok := c.(driver.ConnBeginTx); ok {
		set |= 8
	}
	if _, ok := c.(driver.Pinger); ok {
		set |= 16
	}
	if _, ok := c.(driver.SessionResetter); ok {
		set |= 32
	}
	if _, ok := c.(driver.Validator); ok {
		set |= 64
	}
	if _, ok := c.(driver.NamedValueChecker); ok {
		set |= 128
	}
	return set
}

func stmtSet(s driver.Stmt) (set int) {
	if _, ok := s.(driver.StmtExecContext); ok {
		set |= 1
	}
	if _, ok := s.(driver.StmtQueryContext); ok {
		set |= 2
	}
	if _, ok := s.(driver.NamedValueChecker); ok {
		set |= 4
	}
	if _, ok := s.(columnConverter); ok {
		set |= 8
	}
	return set
}

func rowsSet(r driver.Rows) (set int) {
	if _, ok := r.(driver.RowsNextResultSet); ok {
		set |= 1
	}
	if _, ok := r.(driver.RowsColumnTypeScanType); ok {
		set |= 2
	}
	if _, ok := r.(driver.RowsColumnTypeDatabaseTypeName); ok {
		set |= 4
	}
	if _, ok := r.(driver.RowsColumnTypeLength); ok {
		set |= 8
	}
	if _, ok := r.(driver.RowsColumnTypeNullable); ok {
		set |= 16
	}
	if _, ok := r.(driver.RowsColumnTypePrecisionScale); ok {
		set |= 32
	}
	return set
}

// handedConn is the shape set of parts that are all the fake's own: a driver that can do just that.
func handedConn(set int, f *fake, m *Middleware) driver.Conn {
	return connShape(set, &conn{Conn: &fakeConn{f}, m: m})
}

// one always gives the same connection.
type one struct{ c driver.Conn }

func (o one) Connect(context.Context) (driver.Conn, error) { return o.c, nil }
func (one) Driver() driver.Driver                          { return nil }

// Whatever a driver's connection can do, the limited one can, and nothing else; and database/sql gets along with each of the 256.
func TestEveryShapeOfConnections(t *testing.T) {
	free := New(limiter(t, limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 1 << 30}), Everybody)
	for set := range 256 {
		f := &fake{rows: 2}
		inner := handedConn(set, f, free)
		if got := connSet(inner); got != set {
			t.Fatalf("a driver's connection of set %08b has %08b: the test is wrong", set, got)
		}
		l := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100})
		wrapped, err := New(l, Everybody).Wrap(one{inner}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := connSet(wrapped); got != set {
			t.Errorf("set %08b: the limited connection has %08b", set, got)
		}
		if Unwrap(wrapped) != inner {
			t.Errorf("set %08b: Unwrap gives %T", set, Unwrap(wrapped))
		}
		useAll(t, set, one{wrapped}, f)
		if got := freeOf(t, l); got != 100-4 {
			t.Errorf("set %08b: %d are left of 100, want 96: an execution, a query, one of each in a transaction", set, got)
		}
	}
}

func freeOf(t *testing.T, l *limitgate.Limiter) int64 { return free(t, l, "*") }

// useAll does with a database what one can.
func useAll(t *testing.T, set int, c driver.Connector, f *fake) {
	t.Helper()
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	ctx := t.Context()
	must := func(what string, err error) {
		if err != nil {
			t.Errorf("set %08b: %s: %v", set, what, err)
		}
	}
	must("ping", db.PingContext(ctx))
	_, err := db.ExecContext(ctx, "INSERT", 1)
	must("exec", err)
	var a int
	must("query", db.QueryRowContext(ctx, "SELECT", 1).Scan(&a))
	tx, err := db.BeginTx(ctx, nil)
	must("begin", err)
	_, err = tx.Exec("UPDATE")
	must("exec in a transaction", err)
	must("query in a transaction", tx.QueryRow("SELECT").Scan(&a))
	must("commit", tx.Commit())
	must("close", db.Close())
	for i, call := range []string{"ExecContext", "QueryContext", "PrepareContext", "BeginTx", "Ping", "ResetSession", "IsValid", "CheckNamedValue"} {
		want := set&(1<<i) != 0
		switch call {
		case "PrepareContext": // only for what can't be done without
			want = want && set&3 != 3
		case "CheckNamedValue": // a prepared statement asks its own
			want = want && set&3 != 0
		}
		if got := slices.Contains(f.calls, call); got != want {
			t.Errorf("set %08b: %s was called: %v", set, call, got)
		}
	}
	if f.held.Load() != 0 {
		t.Errorf("set %08b: %d rows are open", set, f.held.Load())
	}
}

func TestEveryShapeOfStatements(t *testing.T) {
	f := &fake{rows: 1}
	l := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1000})
	c := &conn{Conn: &fakeConn{f}, m: New(l, Everybody)}
	for set := range 16 {
		inner := stmtShape(set, &stmt{Stmt: &fakeStmt{f}, c: &conn{Conn: &fakeConn{f}, m: with(t, Config{DryRun: true, Limits: []Limit{{Limiter: l, Key: func(_ context.Context, _ Statement, b []byte) []byte { return b }}}})}})
		if got := stmtSet(inner); got != set {
			t.Fatalf("a driver's statement of set %04b has %04b: the test is wrong", set, got)
		}
		before := free(t, l, "*")
		wrapped := wrapStmt(&stmt{Stmt: inner, c: c, text: "SELECT"})
		if got := stmtSet(wrapped); got != set {
			t.Errorf("set %04b: the limited statement has %04b", set, got)
		}
		//lint:ignore SA1019 what drivers without contexts have
		if _, err := wrapped.Exec(nil); err != nil {
			t.Error(err)
		}
		//lint:ignore SA1019 what drivers without contexts have
		if r, err := wrapped.Query(nil); err != nil || r.Close() != nil {
			t.Error(err)
		}
		if x, ok := wrapped.(driver.StmtExecContext); ok {
			if _, err := x.ExecContext(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		if x, ok := wrapped.(driver.StmtQueryContext); ok {
			if r, err := x.QueryContext(t.Context(), nil); err != nil || r.Close() != nil {
				t.Error(err)
			}
		}
		if got, want := before-free(t, l, "*"), int64(2+set&1+set>>1&1); got != want {
			t.Errorf("set %04b: %d were charged, want %d", set, got, want)
		}
	}
}

func TestEveryShapeOfRows(t *testing.T) {
	f := &fake{rows: 1}
	for set := range 64 {
		inner := rowsShape(set, &rows{Rows: &fakeRows{f, 1}})
		if got := rowsSet(inner); got != set {
			t.Fatalf("a driver's rows of set %06b have %06b: the test is wrong", set, got)
		}
		wrapped := wrapRows(&rows{Rows: inner})
		if got := rowsSet(wrapped); got != set {
			t.Errorf("set %06b: the limited rows have %06b", set, got)
		}
		row := make([]driver.Value, 1)
		if err := wrapped.Next(row); err != nil || row[0] != int64(0) {
			t.Errorf("set %06b: got %v, %v", set, row, err)
		}
		if err := wrapped.Next(row); err != io.EOF {
			t.Errorf("set %06b: got %v, want io.EOF", set, err)
		}
		if x, ok := wrapped.(driver.RowsColumnTypeLength); ok {
			if n, _ := x.ColumnTypeLength(0); n != 7 {
				t.Errorf("set %06b: length %d", set, n)
			}
		}
		if x, ok := wrapped.(driver.RowsColumnTypePrecisionScale); ok {
			if p, s, _ := x.ColumnTypePrecisionScale(0); p != 5 || s != 2 {
				t.Errorf("set %06b: precision %d, scale %d", set, p, s)
			}
		}
	}
}

// A connector that can be closed stays one, and no other becomes one.
func TestConnectorsClose(t *testing.T) {
	f := &fake{}
	m := New(limiter(t, limitgate.Conn{Limit: 1}), Everybody)
	if _, ok := m.Wrap(one{}).(io.Closer); ok {
		t.Error("a connector that can't be closed can be")
	}
	if err := sql.OpenDB(m.Wrap(f)).Close(); err != nil || !slices.Equal(f.calls, []string{"Connector.Close"}) {
		t.Errorf("got %v after %v, want the connector closed", err, f.calls)
	}
}

// Drivers from before there were contexts are limited too.
func TestOldDrivers(t *testing.T) {
	f := &fake{rows: 1}
	l := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100})
	db := sql.OpenDB(New(l, Everybody).Wrap(one{&oldConn{f}}))
	defer db.Close()
	var a int
	if _, err := db.Exec("INSERT", 1); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow("SELECT").Scan(&a); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("INSERT", sql.Named("n", 1)); err == nil {
		t.Error("a named parameter went through")
	}
	p, err := db.Prepare("SELECT")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.QueryRow().Scan(&a); err != nil {
		t.Error(err)
	}
	if got := free(t, l, "*"); got != 100-4 {
		t.Errorf("got %d left, want 96", got)
	}
	if want := []string{"Exec", "Query", "Rows.Close", "Prepare", "Stmt.Query", "Rows.Close"}; !slices.Equal(f.calls, want) {
		t.Errorf("got %v, want %v", f.calls, want)
	}
}

// A Go with new interfaces for drivers has to be met by new shapes: what the limited connections hide, programs lose without a word.
func TestAllInterfacesOfDriversAreKnown(t *testing.T) {
	known := []string{
		"ColumnConverter", "Conn", "ConnBeginTx", "ConnPrepareContext", "Connector", "Driver", "DriverContext", "Execer", "ExecerContext",
		"NamedValueChecker", "Pinger", "Queryer", "QueryerContext", "Result", "Rows", "RowsColumnTypeDatabaseTypeName", "RowsColumnTypeLength",
		"RowsColumnTypeNullable", "RowsColumnTypePrecisionScale", "RowsColumnTypeScanType", "RowsNextResultSet", "SessionResetter", "Stmt",
		"StmtExecContext", "StmtQueryContext", "Tx", "Validator", "ValueConverter", "Valuer",
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "database/sql/driver").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() && !strings.HasSuffix(name, "_test.go") {
				if _, is := s.Type.(*ast.InterfaceType); is {
					found = append(found, s.Name.Name)
				}
			}
			return true
		})
	}
	slices.Sort(found)
	if !slices.Equal(found, known) {
		t.Errorf("package driver has %v, and the shapes know %v", found, known)
	}
}
