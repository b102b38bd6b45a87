import { parentPort, workerData } from 'node:worker_threads'

import { createCapture } from '../runtime/capture.ts'
import type { FileFacts, FolderEntry } from '../runtime/posix-files.ts'
import { fileChanges } from './shell-files.ts'
import { mostFileBytes } from './shell-task.ts'
import type { KeptEntry, ShellCommand, ShellOutput, ShellReply, ShellSetup, ShellTask } from './shell-task.ts'

const { cwd, files, kept, maxOutputBytes }: ShellSetup = workerData

const say = (reply: ShellReply): void => parentPort?.postMessage(reply)

async function open() {
  const { Bash } = await import('just-bash')
  const executionLimits = { maxFileSystemBytes: mostFileBytes }
  const { fs } = new Bash({ files: { ...files }, cwd, executionLimits })
  await fs.mkdir(cwd, { recursive: true })
  const changes = await fileChanges(fs)
  await changes.restore(kept)

  const facts = async (at: string): Promise<FileFacts> => {
    const stat = await fs.lstat(at)
    const kind = stat.isSymbolicLink ? 'link' : stat.isDirectory ? 'directory' : stat.isFile ? 'file' : 'other'
    return { kind, bytes: stat.size }
  }

  const entries = async (at: string): Promise<FolderEntry[]> => {
    const found: FolderEntry[] = []
    for (const name of await fs.readdir(at)) found.push({ name, ...(await facts(fs.resolvePath(at, name))) })
    return found
  }

  async function exec({ command, cwd: below, env, timeoutMs }: ShellCommand): Promise<ShellOutput> {
    // Each command has its own shell and time. They share the files only.
    const limits = { ...executionLimits, maxExecutionTimeMs: timeoutMs }
    const shell = new Bash({ fs, cwd, env: { ...env }, executionLimits: limits })
    const result = await shell.exec(command, { cwd: below })
    const bounded = (text: string) => {
      const capture = createCapture(maxOutputBytes, () => {})
      capture.write(new TextEncoder().encode(text))
      return { text: capture.text(), truncated: capture.truncated }
    }
    const [stdout, stderr] = [bounded(result.stdout), bounded(result.stderr)]
    const truncated = stdout.truncated || stderr.truncated
    return { stdout: stdout.text, stderr: stderr.text, exitCode: result.exitCode, truncated }
  }

  async function perform(task: ShellTask): Promise<unknown> {
    switch (task.task) {
      case 'exec':
        return exec(task.input)
      case 'realpath':
        return fs.realpath(task.input)
      case 'facts':
        return facts(task.input)
      case 'read':
        return fs.readFileBuffer(task.input)
      case 'write':
        return fs.writeFile(task.input.at, task.input.data)
      case 'makeFolder':
        return fs.mkdir(task.input, { recursive: true })
      case 'rename':
        return fs.mv(task.input.from, task.input.to)
      case 'remove':
        return fs.rm(task.input)
      case 'entries':
        return entries(task.input)
      default:
        return task satisfies never
    }
  }

  const reading: ReadonlySet<ShellTask['task']> = new Set(['realpath', 'facts', 'read', 'entries'])

  return async (task: ShellTask): Promise<void> => {
    say({ say: 'begun' })
    let reply: { output: unknown } | { message: string }
    try {
      reply = { output: await perform(task) }
    } catch (error) {
      reply = { message: error instanceof Error ? error.message : String(error) }
    }
    const changed: readonly KeptEntry[] | number = reading.has(task.task) ? [] : await changes.since()
    if (typeof changed === 'number') say({ say: 'too-many', count: changed })
    else if ('output' in reply) say({ say: 'done', output: reply.output, changed })
    else say({ say: 'failed', message: reply.message.slice(0, 4_000), changed })
  }
}

const opened = open()
// Heard with the first task.
opened.catch(() => {})
parentPort?.on('message', (task: ShellTask) => {
  opened.then(
    (perform) => perform(task),
    (error: unknown) => say({ say: 'missing', reason: error instanceof Error ? error.message : String(error) }),
  )
})
