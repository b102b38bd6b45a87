import type { McpVisit } from '../doors/mcp.ts'
import { mcpDoor } from '../doors/mcp.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill } from '../text.ts'

/** The names are those of the cases of `mcp-server.ts`. */
function visit(misdeed: string, ...expect: string[]): Rows<McpVisit> {
  return { [misdeed]: [() => ({ misdeed }), ...expect] }
}
function called(misdeed: string, input: unknown, ...expect: string[]): Rows<McpVisit> {
  return { [misdeed]: [() => ({ misdeed, input }), ...expect] }
}
const asRun = ['completed*', 'failed *', 'suspended*'] as const
const asRunOrRefused = [...asRun, 'refused *', 'mcp-*'] as const

const rows: Rows<McpVisit> = {
  ...visit('tools, 20,000 of them', ...asRunOrRefused),
  ...visit('a description of 1 MB', 'refused too-large'),
  ...visit('a description of 200 KB of invisible letters', ...asRunOrRefused),
  ...visit('a description of U+FDFA', ...asRunOrRefused),
  ...visit('a name of 1 MB', 'refused invalid'),
  ...visit('a name that is none', ...asRunOrRefused),
  ...visit('the same name twice', ...asRunOrRefused),
  ...visit('names that differ by what cannot be seen', ...asRunOrRefused),
  ...called('a pattern that tries all ways', { v: `${fill('a', 40)}!` }, ...asRunOrRefused),
  ...called('a pattern that looks back', { v: `${fill('a', 5_000)}!` }, ...asRunOrRefused),
  ...visit('a schema nested 2,000 deep', 'refused *', 'mcp-*'),
  ...called('a schema of references that double', { v: 'x' }, ...asRunOrRefused),
  ...visit('a schema of 1 MB', 'refused too-large'),
  ...called('a schema with an enum of 20,000', { v: 'x' }, ...asRunOrRefused),
  ...visit('a schema that is no object', 'refused invalid', 'mcp-*'),
  ...called('keys of a prototype in a schema', JSON.parse('{"__proto__":1}'), ...asRunOrRefused),
  ...called('all at once in an output schema', {}, ...asRunOrRefused),
  ...visit('a result of 1 MB', ...asRun),
  ...visit('a result of U+FDFA', ...asRun),
  ...visit('a result of 20 MB', ...asRun),
  ...visit('a result of 20,000 parts', ...asRun),
  ...visit('a result nested 5,000 deep', ...asRun),
  ...visit('a result of 50,000 keys', ...asRun),
  ...visit('links to 5,000 resources', ...asRun),
  ...visit('a link of 500 KB', ...asRun),
  ...visit('a resource with broken base64', ...asRun),
  ...visit('an image of 1 MB', ...asRun),
  ...visit('an image with broken base64', ...asRun),
  ...visit('parts of no known kind', ...asRun),
  ...visit('no content', ...asRun),
  ...visit('content that is a text', ...asRun),
  ...visit('no answer', 'completed [*', 'failed *'),
  ...visit('an answer without its end', 'completed [*', 'failed *'),
  ...visit('a line without end', 'completed [*', 'failed *'),
  ...visit('lines of JSON nested 500,000 deep', ...asRun),
  ...visit('lines that are no messages, 50,000 of them', ...asRun),
  ...visit('notifications, 50,000 of them', ...asRun),
  ...visit('progress, 50,000 times', ...asRun),
  ...visit('changed lists, 5,000 times', ...asRun),
  ...visit('questions, 2,000 of them', ...asRun),
  ...visit('a question whose schema tries all ways', ...asRun),
  ...visit('samples, 2,000 of them', ...asRun),
  ...visit('answers to what was not asked, 20,000 of them', ...asRun),
  ...visit('the same answer 1,000 times', ...asRun),
  ...visit('an error of 1 MB', ...asRun),
  ...visit('an error on the other line, 10 MB of it', ...asRun),
  ...visit('an end in the middle', 'completed [*', 'failed *'),
  ...visit('no greeting', 'mcp-timeout', 'mcp-closed', 'mcp-error', 'mcp-start-failed'),
  ...visit('another version', 'mcp-*'),
  ...visit('instructions of 1 MB', ...asRunOrRefused),
  ...visit('words before the greeting', ...asRunOrRefused),
  ...visit('a list without end', 'mcp-*', ...asRun),
  'a resource of 1 MB': [() => ({ misdeed: 'a resource of 1 MB', resource: 'x://1' }), 'read', 'mcp-*'],
  'a resource of 20,000 parts': [() => ({ misdeed: 'a resource of 20,000 parts', resource: 'x://1' }), 'read', 'mcp-*'],
  'a resource of broken base64': [() => ({ misdeed: 'none', resource: 'x://1' }), 'read', 'mcp-*'],
  'a resource whose name is 1 MB': [
    () => ({ misdeed: 'none', resource: `x://${fill('a', 1_000_000)}` }),
    'read',
    'mcp-*',
    'invalid-*',
  ],
}

/** What a server of tools sends. */
export const mcpMessages: readonly HostileInput[] = hostileInputs('mcp', mcpDoor, rows, { stored: true })
