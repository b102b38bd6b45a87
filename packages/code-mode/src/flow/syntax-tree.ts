import type { AnyNode, Function as FunctionShape } from 'acorn'

/** A function of a script, of any form. */
export type FunctionNode = Extract<AnyNode, FunctionShape>

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

export function isFunction(node: AnyNode): node is FunctionNode {
  return (
    node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression' || node.type === 'FunctionDeclaration'
  )
}

/** The nodes directly below a node, in the order of the text. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  const found: AnyNode[] = []
  for (const [key, value] of Object.entries(node)) {
    if (key === 'loc' || key === 'value') {
      if (key === 'value' && isNode(value)) found.push(value)
      continue
    }
    if (isNode(value)) found.push(value)
    else if (Array.isArray(value)) for (const item of value) if (isNode(item)) found.push(item)
  }
  return found
}
