import type { ToolInfo } from '@provost/core'

/** Returns a function that reads something of a tool once. A changed definition is another object. */
export function oncePerTool<T extends object>(read: (tool: ToolInfo) => T): (tool: ToolInfo) => T {
  const known = new WeakMap<ToolInfo, T>()
  return (tool) => {
    let found = known.get(tool)
    if (!found) known.set(tool, (found = read(tool)))
    return found
  }
}
