// Drives nacos-naming for the Go tests. Each line on standard input is a request,
// {"id": 1, "op": "register", …}; each line on standard output is its answer,
// {"id": 1, "value": …} or {"id": 1, "error": "…"}, or a change that a
// subscription was told of, {"change": "service", "hosts": […]}. The client's own
// log goes to standard error.
'use strict';

const readline = require('readline');

const { connect, version } = require('./nacos');

const send = message => process.stdout.write(JSON.stringify(message) + '\n');

const client = connect(...process.argv.slice(2));

const operations = {
  version: async () => version,
  status: () => client.getServerStatus(),
  register: ({ service, instance }) => client.registerInstance(service, instance),
  deregister: ({ service, instance }) => client.deregisterInstance(service, instance),
  list: ({ service }) => client.getAllInstances(service, undefined, '', false),
  select: ({ service }) => client.selectInstances(service, undefined, '', true, false),
  // Without clusters, it would watch the cluster DEFAULT alone.
  subscribe: async ({ service, clusters }) => {
    client.subscribe({ serviceName: service, clusters }, hosts => send({ change: service, hosts }));
  },
};

client.ready().then(() => {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', async line => {
    const { id, op, ...parameters } = JSON.parse(line);
    try {
      send({ id, value: await operations[op](parameters) });
    } catch (err) {
      send({ id, error: String(err) });
    }
  });
  // The client can't be closed while it beats: the end of the input is the end.
  lines.on('close', () => process.exit(0));
});
