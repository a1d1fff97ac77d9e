// What a user of nacos-naming writes: an HTTP server that registers when it
// listens, with one route of its own and one that calls another service by name.
// The Go tests say where the registry is, what the service is called and which
// instance it is: node app.js 127.0.0.1:8848 payments '{"ip": "127.0.0.1", "port": 8001, …}'
'use strict';

const http = require('http');

const { connect } = require('./nacos');

const [registry, name, document] = process.argv.slice(2);
const instance = JSON.parse(document);
const client = connect(registry);

// get answers with the body of a GET.
const get = url => new Promise((resolve, reject) => {
  http.get(url, { agent: false }, response => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', chunk => { body += chunk; });
    response.on('end', () => (response.statusCode === 200 ? resolve(body) : reject(new Error(`${response.statusCode}: ${body}`))));
  }).on('error', reject);
});

// call asks one of the healthy instances, in all clusters, for its /hello. The
// client keeps the list and is told of changes.
const call = async service => {
  const hosts = await client.selectInstances(service, undefined, '');
  if (hosts.length === 0) {
    throw new Error(`no instance of ${service}`);
  }
  const { ip, port } = hosts[Math.floor(Math.random() * hosts.length)];
  return get(`http://${ip}:${port}/hello`);
};

const server = http.createServer(async ({ url }, response) => {
  try {
    const [, service] = url.match(/^\/via\/(.+)$/) || [];
    response.end(service ? await call(service) : `hello from ${name}`);
  } catch (err) {
    response.statusCode = 502;
    response.end(String(err));
  }
});

server.listen(instance.port, instance.ip, async () => {
  await client.ready();
  await client.registerInstance(name, instance);
});

process.on('SIGTERM', async () => {
  await client.deregisterInstance(name, instance);
  process.exit(0);
});
