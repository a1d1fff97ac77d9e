package probe

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// readOnlyCommand asks a MySQL whether it is the one that is written to. As the
// command of a checker, spelled exactly so, it makes a target fail that answers
// ON (Nacos: MysqlHealthCheckProcessor).
const readOnlyCommand = "show global variables where variable_name='read_only'"

// mysqlAsker logs in and runs a command. Nacos counts every error of the driver,
// one while connecting included, as a failure at once.
type mysqlAsker struct{ user, password, command string }

func (a *mysqlAsker) ask(ctx context.Context, dial DialFunc, address string) verdict {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+answerTimeout)
	defer cancel()
	row, err := a.query(ctx, dial, address)
	if err != nil {
		v := failure(err)
		if _, answered := errors.AsType[*mysql.MySQLError](err); answered {
			v.outcome = unwelcome
		}
		v.atOnce = true
		return v
	}
	if a.command == readOnlyCommand && len(row) > 1 && strings.EqualFold(text(row[1]), "ON") {
		return verdict{outcome: readOnly}
	}
	return verdict{outcome: succeeded}
}

// query runs the command on a connection of its own and returns its first row,
// or none. It speaks to the driver directly: the pool above it would try again,
// and keep a goroutine per target.
func (a *mysqlAsker) query(ctx context.Context, dial DialFunc, address string) (row []driver.Value, err error) {
	config := mysql.NewConfig()
	config.User, config.Passwd = a.user, a.password
	config.Net, config.Addr = "tcp", address
	config.Timeout, config.ReadTimeout, config.WriteTimeout = connectTimeout, answerTimeout, answerTimeout
	config.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return dial.connect(ctx, address) }
	config.Logger = &mysql.NopLogger{}
	config.CheckConnLiveness = false // it is used once
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	queryer, ok := conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the MySQL driver runs no queries")
	}
	rows, err := queryer.QueryContext(ctx, a.command, nil)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	row = make([]driver.Value, len(rows.Columns()))
	if len(row) == 0 {
		return nil, nil // a command without an answer
	}
	if err := rows.Next(row); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, cause(ctx, err)
	}
	return row, nil
}

// cause prefers the end of the context to whatever the driver made of it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func text(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}
