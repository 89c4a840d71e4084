#!/usr/bin/env node
// Checks Dockerfile and docker-compose.yml without a Docker daemon: both parse, the linter has no complaint, and what
// they name exists: stages, files, services, volumes, settings, and commands that `npm run` also runs.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parseDocument } from 'yaml';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
const faults = [...checkDockerfile('Dockerfile'), ...checkCompose('docker-compose.yml')];
console.log(faults.length > 0 ? faults.join('\n') : 'Dockerfile and docker-compose.yml: no fault');
process.exitCode = faults.length > 0 ? 1 : 0;

function checkDockerfile(file) {
  const text = readFileSync(file, 'utf8');
  const at = (range, message) => `${file}:${range.start.line + 1}: ${message}`;
  const dockerfile = DockerfileParser.parse(text);
  const found = validate(text).map((problem) => at(problem.range, problem.message));
  const stages = dockerfile.getFROMs().map((from) => from.getBuildStage());
  for (const from of dockerfile.getFROMs()) {
    if (!stages.includes(from.getImage()) && !from.getImageTag())
      found.push(at(from.getRange(), 'name a tag of the image'));
  }
  for (const copy of dockerfile.getCOPYs()) {
    const from = copy.getFlags().find((flag) => flag.getName() === 'from');
    if (from && !stages.includes(from.getValue())) found.push(at(copy.getRange(), `no stage ${from.getValue()}`));
    for (const source of from ? [] : copy.getArguments().slice(0, -1)) {
      if (!existsSync(source.getValue())) found.push(at(copy.getRange(), `${source.getValue()} does not exist`));
    }
  }
  for (const instruction of dockerfile.getInstructions()) {
    const command = commandOf(instruction);
    const fault = command && faultOfCommand(command);
    if (fault) found.push(at(instruction.getRange(), fault));
  }
  return [...found, ...checkLastStage(file, dockerfile)];
}

function checkLastStage(file, dockerfile) {
  const instructions = dockerfile.getInstructions();
  const names = instructions.map((instruction) => instruction.getKeyword());
  const last = instructions.slice(names.lastIndexOf('FROM'));
  const argumentsOf = (name) => last.find((instruction) => instruction.getKeyword() === name)?.getArgumentsContent();
  const found = ['CMD', 'HEALTHCHECK', 'USER']
    .filter((name) => !argumentsOf(name))
    .map((name) => `the last stage lacks ${name}`);
  if (/^(root|0)\b/.test(argumentsOf('USER') ?? '')) found.push('the last stage runs as root');
  return found.map((fault) => `${file}: ${fault}`);
}

/** The command that an instruction runs, in words; undefined where it runs none of ours. */
function commandOf(instruction) {
  const content = instruction.getArgumentsContent() ?? '';
  switch (instruction.getKeyword()) {
    case 'CMD':
    case 'ENTRYPOINT':
      return JSON.parse(content).join(' ');
    case 'HEALTHCHECK':
      return JSON.parse(content.slice(content.indexOf('['))).join(' ');
    case 'RUN':
      return /\bnpm run [\w:-]+/.exec(content)?.[0];
    default:
      return undefined;
  }
}

function checkCompose(file) {
  const document = parseDocument(readFileSync(file, 'utf8'), { merge: true, prettyErrors: true });
  const problems = [...document.errors, ...document.warnings].map((problem) => `${file}: ${problem.message}`);
  if (problems.length > 0) return problems;
  const compose = document.toJS();
  const found = Object.entries(compose.services).flatMap(([name, service]) =>
    checkService(service, compose).map((fault) => `${file}: ${name}: ${fault}`),
  );
  const defaults = readFileSync(file, 'utf8').match(/\$\{\w*(SECRET|PASSWORD)\w*:?-[^}]+\}/g) ?? [];
  return [...found, ...defaults.map((text) => `${file}: a secret must not have a default: ${text}`)];
}

function checkService(service, { services, volumes = {} }) {
  const found = [];
  for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
    if (!services[name]) found.push(`depends on ${name}, which is not here`);
    else if (condition === 'service_healthy' && !services[name].healthcheck?.test)
      found.push(`waits for ${name}, which has no healthcheck`);
  }
  for (const volume of service.volumes ?? []) {
    const [source] = volume.split(':');
    if (!/^[./~]/.test(source) && !(source in volumes)) found.push(`volume ${source} is not declared`);
  }
  return service.build ? [...found, ...checkOwnService(service, services)] : found;
}

function checkOwnService(service, services) {
  const [, ...healthcheck] = service.healthcheck?.test ?? [];
  const commands = [service.command, healthcheck].filter((words) => words?.length > 0).map((words) => words.join(' '));
  const settings = readFileSync('src/config.ts', 'utf8');
  const unknown = Object.keys(service.environment ?? {}).filter((name) => !new RegExp(`\\b${name}\\b`).test(settings));
  const hosts = Object.values(service.environment ?? {}).flatMap(
    (value) => /^\w+:\/\/(?:.*@)?([\w-]+):\d+/.exec(value)?.[1] ?? [],
  );
  return [
    ...(existsSync(`${service.build.context}/Dockerfile`) ? [] : [`no Dockerfile in ${service.build.context}`]),
    ...commands.map(faultOfCommand).filter(Boolean),
    ...unknown.map((name) => `src/config.ts does not know ${name}`),
    ...hosts.filter((host) => !services[host]).map((host) => `no service ${host}`),
  ];
}

/** What is wrong with a command: it must be an npm script's, and the file that it starts must exist or be built. */
function faultOfCommand(command) {
  const script = /^npm run ([\w:-]+)/.exec(command)?.[1];
  if (script) return script in scripts ? undefined : `no npm script ${script}`;
  if (!Object.values(scripts).some((text) => command === text || command.startsWith(`${text} `)))
    return `no npm script runs \`${command}\``;
  const entry = /\S+\.m?js\b/.exec(command)?.[0] ?? '';
  const source = entry.replace(/^dist\/(.*)\.js$/, '$1.ts');
  return existsSync(source) ? undefined : `${source} does not exist`;
}
