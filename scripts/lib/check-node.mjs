// Imported first and free of packages: says in one line what an old Node would say in a stack trace.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Tideline needs Node 20.19 or newer; this is ${process.versions.node} (${process.execPath}).`);
  process.exit(1);
}
