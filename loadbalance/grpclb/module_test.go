package grpclb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
)

func TestModule_SharesConnectionsAndClosesThem(t *testing.T) {
	f := newFleet(t, loadbalance.Options{}, at(serve(t, "one")))
	var connections *grpclb.Connections
	app := fxtest.New(t, fx.NopLogger, grpclb.Module, fx.Supply(f.balancer), fx.Populate(&connections),
		fx.Provide(fx.Annotate(func() grpc.DialOption {
			return grpc.WithTransportCredentials(insecure.NewCredentials())
		}, fx.ResultTags(`group:"grpclb.dialoptions"`)))).RequireStart()
	conn, err := connections.Get(users.Name)
	require.NoError(t, err)
	same, err := connections.Get(users.Name)
	require.NoError(t, err)
	require.Same(t, conn, same)
	name, err := ask(t.Context(), conn, "")
	require.NoError(t, err)
	require.Equal(t, "one", name)
	app.RequireStop()
	require.Equal(t, connectivity.Shutdown, conn.GetState())
	_, err = connections.Get(users.Name)
	require.ErrorIs(t, err, loadbalance.ErrClosed)
}

func TestConnections_WhatIsMissingIsSaid(t *testing.T) {
	connections := grpclb.NewConnections(newFleet(t, loadbalance.Options{}).balancer)
	_, err := connections.Get(users.Name)
	require.ErrorContains(t, err, "connect to user-service: grpc: no transport security set")
	connections = grpclb.NewConnections(newFleet(t, loadbalance.Options{}).balancer, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := connections.Get(users.Name)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, connections.Close(), "somebody else had closed it")
	require.NoError(t, connections.Close())
}
