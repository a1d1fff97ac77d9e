// nacos-naming as the Go tests use it: connected over the loopback interface, with
// its log on standard error.
'use strict';

const os = require('os');

// The client asks for pushes to the machine's first address that is not
// loopback. No traffic of the tests leaves the loopback interface, so that is
// the only one it is shown; it then names no address and the server pushes to
// 127.0.0.1.
const { networkInterfaces } = os;
os.networkInterfaces = () => {
  const all = networkInterfaces.call(os);
  return Object.fromEntries(Object.entries(all).filter(([, addresses]) => addresses.every(a => a.internal)));
};

const { NacosNamingClient } = require('nacos-naming');

const log = level => (...args) => console.error(level, ...args);
const logger = { debug: () => {}, info: log('INFO'), warn: log('WARN'), error: log('ERROR') };

// connect returns a client, which is to be waited for with ready().
exports.connect = (server, username, password) => {
  const client = new NacosNamingClient({ logger, serverList: server, namespace: 'public', username, password });
  client.on('error', err => logger.error(err));
  return client;
};

exports.version = require('nacos-naming/package.json').version;
