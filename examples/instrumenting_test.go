package examples_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armhttp"
	"github.com/pcp-rtime/rtime/arm/armsql"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// The snippets of docs/measuring-transactions.md.

func accounts() (app *arm.Application, lastCheck func(ctx context.Context, account string) error) {
	app = arm.NewApplication("Checking Account Query")
	query := app.Transaction("Last Check Query")

	lastCheck = func(ctx context.Context, account string) error {
		running := query.Start(ctx)
		err := lookUp(ctx, account)
		running.Stop(arm.StatusOf(err))
		return err
	}
	return app, lastCheck
}

func lookUp(ctx context.Context, account string) error {
	if account == "" {
		return errors.New("no such account")
	}
	return ctx.Err()
}

func scan(app *arm.Application) {
	rows := arm.NewCounter("rows read")
	depth := arm.NewGauge("queue length")
	table := arm.NewString("table")
	scan := app.Transaction("Scan", arm.Metrics(rows, depth, table))

	running := scan.Start(context.Background(), rows.Value(0), table.Value("accounts"))
	running.Update(rows.Value(1000), depth.Value(3))
	running.Stop(arm.Good, rows.Value(1700))
}

func nested(app *arm.Application) {
	order, stock := app.Transaction("Order"), app.Transaction("Stock")

	ctx, running := order.StartContext(context.Background())
	inner := stock.Start(ctx) // a child of order
	inner.Stop(arm.Good)
	running.Stop(arm.Good)
}

func serve(app *arm.Application, account http.HandlerFunc) (http.Handler, *http.Client) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}", account)
	handler := armhttp.Handler(app, mux)

	client := &http.Client{Transport: armhttp.Transport(app, nil)}
	return handler, client
}

func database(app *arm.Application, connector driver.Connector) *sql.DB {
	db := sql.OpenDB(armsql.Connector(app, connector))
	return db
}

// nobody is a database that does not answer.
type nobody struct{}

func (nobody) Connect(context.Context) (driver.Conn, error) { return nil, driver.ErrBadConn }
func (nobody) Driver() driver.Driver                        { return nil }

// TestInstrumenting runs the snippets and counts what they measured.
func TestInstrumenting(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(layout.DirEnv, dir)
	app, lastCheck := accounts()
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	if lastCheck(context.Background(), "1") != nil || lastCheck(context.Background(), "") == nil {
		t.Error("a result of its own")
	}
	scan(app)
	nested(app)
	handler, client := serve(app, func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewServer(handler)
	resp, err := client.Get(s.URL + "/accounts/7")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.Close()

	db := database(app, nobody{})
	defer db.Close()
	if err := db.Ping(); !errors.Is(err, driver.ErrBadConn) { // at the third connection
		t.Error(err)
	}

	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	r, err := reader.OpenProc(paths[0], uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var good, failed, aborted uint64
	if err := r.Changed(true, 0, func(d *reader.CellDelta) {
		good, failed, aborted = good+d.Count, failed+d.Failed, aborted+d.Aborted
	}); err != nil {
		t.Fatal(err)
	}
	if good != 6 || failed != 1 || aborted != 3 {
		t.Errorf("%d good ones, %d failed, %d aborted", good, failed, aborted)
	}
}
