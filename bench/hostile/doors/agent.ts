import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'

import { bashTool, fileTools, justBashRuntime, nodeRuntime } from 'provost/files'
import type { ScriptedEntry, ScriptedToolCall } from 'provost/testing'
import { webFetchTool } from 'provost/web'

import { done, outcomeOf, probeAgent } from '../agents.ts'
import type { Door } from '../input.ts'

/** What a model says, and what the tool `look` found. */
export interface ModelOutput {
  readonly steps: readonly ScriptedEntry[]
  readonly found?: unknown
  /** The agent writes scripts. */
  readonly scripts?: boolean
  /** A human agrees to whatever is asked. */
  readonly agrees?: boolean
}

/** An agent under all guards, whose model is scripted; the outcome is the status, with the codes of calls that failed. */
export const agentDoor: Door<ModelOutput> = {
  name: 'agent.stream',
  benign: { steps: [{ toolCalls: [{ name: 'look', input: {} }] }, { toolCalls: [{ name: 'note', input: {} }] }, done] },
  pass({ steps, found, scripts, agrees }, { store }) {
    const agent = probeAgent({ steps, store, found, ...(scripts && { scripts }) })
    return outcomeOf(agent.stream('Look at what came in.', agrees ? { onApproval: () => 'approve' } : {}))
  },
}

/** The same for scripts that a model writes. */
export const scriptsDoor: Door<ModelOutput> = {
  ...agentDoor,
  name: 'codeMode',
  benign: {
    scripts: true,
    steps: [{ toolCalls: [{ name: 'code_execute', input: { source: 'return await tools.look({})' } }] }, done],
  },
}

/** A result that is read first, and a sent text that repeats its beginning. */
export function readAndRepeat(text: string): ModelOutput {
  const repeat: ScriptedToolCall = { name: 'send', input: { to: 'ann@example.com', body: text.slice(0, 200_000) } }
  return { found: text, steps: [{ toolCalls: [{ name: 'look', input: {} }] }, { toolCalls: [repeat] }, done] }
}

/** What a web server answers. */
export interface Page {
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
}

/** A page that an agent fetches from a server of this machine, and repeats. */
export const webDoor: Door<Page> = {
  name: 'web_fetch',
  benign: { body: '<html><body><article><p>Hello, this is a page.</p></article></body></html>' },
  async pass({ body, headers = {}, status = 200 }, { store }) {
    const server = createServer((_, response) => {
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
    const url = `http://${host}/page`
    try {
      const tools = [webFetchTool({ allow: [host], timeoutMs: 5_000 })]
      const steps = [{ toolCalls: [{ name: 'web_fetch', input: { url } }] }, done]
      return await outcomeOf(probeAgent({ steps, store, tools }).stream(`Read ${url}.`))
    } finally {
      server.closeAllConnections()
      server.close()
    }
  },
}

/** A call of a file tool or of the shell. */
export interface FileCall {
  readonly tool: 'grep' | 'glob' | 'read' | 'edit' | 'write' | 'bash'
  readonly input: unknown
  readonly files?: Readonly<Record<string, string>>
  /** The shell that is an interpreter; default the machine's. */
  readonly justBash?: boolean
}

/** Tools over files of a folder of its own. */
export const filesDoor: Door<FileCall> = {
  name: 'fileTools',
  benign: { tool: 'grep', input: { pattern: 'a' }, files: { 'a.txt': 'a' } },
  async pass({ tool, input, files = {}, justBash = false }, { folder, store }) {
    if (!justBash) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), text)
      }
    }
    const runtime = justBash ? justBashRuntime({ files }) : nodeRuntime({ cwd: folder })
    const steps = [{ toolCalls: [{ name: tool, input }] }, done]
    return outcomeOf(probeAgent({ steps, store, runtime, tools: [...fileTools, bashTool] }).stream('Do it.'))
  },
}

/** The interpreter of shell commands. */
export const shellDoor: Door<FileCall> = {
  ...filesDoor,
  name: 'justBashRuntime',
  benign: { tool: 'bash', input: { command: 'echo hello' }, justBash: true },
}
