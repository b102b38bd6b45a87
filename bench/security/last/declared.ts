import { made } from '../own/build.ts'
import type { SuiteTool } from '../replay/suite.ts'

type Role = SuiteTool['arg_roles'][string]
type Type = 'string' | 'number' | 'boolean' | 'string[]'

/** The type of an argument, with its role if the developer declared one. */
type Argument = Type | readonly [type: Type, role: Role]

/**
 * Returns a tool of a suite whose arguments have types, and roles only where a developer declared them.
 *
 * @param kind as in `made`; `computes` neither reads data nor has an effect.
 * @param trusted fields of what others write that the system makes.
 */
export function declared(
  name: string,
  description: string,
  kind: Parameters<typeof made>[2] | 'computes',
  args: Readonly<Record<string, Argument>>,
  trusted: readonly string[] = [],
): SuiteTool {
  const rows = Object.entries(args).map(([key, argument]) => {
    const [type, role] = typeof argument === 'string' ? [argument] : argument
    return { key, type, role }
  })
  const roles = Object.fromEntries(rows.flatMap(({ key, role }) => (role === undefined ? [] : [[key, role]])))
  const tool: SuiteTool = {
    ...made(name, description, kind === 'computes' ? 'reads' : kind, roles, trusted),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        rows.map(({ key, type }) => [
          key,
          type === 'string[]' ? { type: 'array', items: { type: 'string' } } : { type },
        ]),
      ),
    },
  }
  return kind === 'computes' ? { ...tool, effect: 'none', returns_private: false } : tool
}
