import type { AnyNode, Pattern } from 'acorn'

import type { FunctionNode } from './syntax-tree.ts'
import { childrenOf, isFunction } from './syntax-tree.ts'

/** A variable of a script. */
export interface Binding {
  readonly name: string
  readonly scope: Scope
  /** Where its declaration starts in the text. Before it, the variable cannot be read. */
  readonly from: number
  /** What it is declared with. Absent for parameters and parts of patterns. */
  readonly init?: AnyNode
  /** It is set where it is declared and nowhere else. */
  isFixed: boolean
}

export interface Scope {
  readonly node: AnyNode
  readonly parent: Scope | undefined
  readonly names: Map<string, Binding>
}

/** The scopes of a script, and the variable that each name stands for. */
export interface ScriptScopes {
  /** The variable of an identifier; undefined for a global of the engine. */
  bindingOf(node: AnyNode): Binding | undefined
  /** The innermost scope around a node that has statements or names. */
  scopeOf(node: AnyNode): Scope
  readonly functions: readonly FunctionNode[]
}

/** The identifiers that a pattern declares or assigns. */
export function namesIn(pattern: Pattern | AnyNode): readonly Extract<AnyNode, { type: 'Identifier' }>[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern]
    case 'ObjectPattern':
      return pattern.properties.flatMap((one) => namesIn(one.type === 'RestElement' ? one.argument : one.value))
    case 'ArrayPattern':
      return pattern.elements.flatMap((one) => (one ? namesIn(one) : []))
    case 'RestElement':
      return namesIn(pattern.argument)
    case 'AssignmentPattern':
      return namesIn(pattern.left)
    default:
      return []
  }
}

const blocks: ReadonlySet<string> = new Set([
  'BlockStatement',
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'SwitchStatement',
  'CatchClause',
  'StaticBlock',
  'ClassExpression',
  'ClassDeclaration',
])

/** Finds the scopes of a script whose outermost node is a function. */
export function scopesOf(root: FunctionNode): ScriptScopes {
  const bindings = new Map<AnyNode, Binding>()
  const scopes = new Map<AnyNode, Scope>()
  const functions: FunctionNode[] = []
  const later: (() => void)[] = []

  const open = (node: AnyNode, parent: Scope | undefined): Scope => ({ node, parent, names: new Map() })
  const declare = (scope: Scope, node: AnyNode, from: number, init?: AnyNode, isFixed = false) => {
    if (node.type !== 'Identifier') return
    const known = scope.names.get(node.name)
    if (known) {
      known.isFixed = false
      bindings.set(node, known)
      return
    }
    const binding: Binding = { name: node.name, scope, from, ...(init && { init }), isFixed }
    scope.names.set(node.name, binding)
    bindings.set(node, binding)
  }
  const functionScope = (scope: Scope): Scope => {
    let at = scope
    while (!isFunction(at.node) && at.node.type !== 'StaticBlock' && at.parent) at = at.parent
    return at
  }
  const find = (name: string, scope: Scope): Binding | undefined => {
    for (let at: Scope | undefined = scope; at; at = at.parent) {
      const found = at.names.get(name)
      if (found) return found
    }
    return undefined
  }
  const unfix = (pattern: AnyNode, scope: Scope) => {
    for (const name of namesIn(pattern)) {
      const found = find(name.name, scope)
      if (found) found.isFixed = false
    }
  }

  const visit = (node: AnyNode, scope: Scope): void => {
    scopes.set(node, scope)
    if (isFunction(node)) {
      functions.push(node)
      if (node.type === 'FunctionDeclaration' && node.id) declare(scope, node.id, scope.node.start, node, true)
      const inner = open(node, scope)
      if (node.type === 'FunctionExpression' && node.id) declare(inner, node.id, node.start, node, true)
      for (const param of node.params) for (const name of namesIn(param)) declare(inner, name, node.start)
      for (const child of childrenOf(node)) if (child !== node.id) visit(child, inner)
      return
    }
    if (node.type === 'ClassDeclaration' && node.id) declare(scope, node.id, node.start, node, true)
    if (node.type === 'VariableDeclaration') {
      const owner = node.kind === 'var' ? functionScope(scope) : scope
      for (const { id, init } of node.declarations) {
        const plain = id.type === 'Identifier' && init ? init : undefined
        for (const name of namesIn(id)) {
          declare(owner, name, node.kind === 'var' ? owner.node.start : name.start, plain, node.kind !== 'var')
        }
      }
    }
    const inner = blocks.has(node.type) ? open(node, scope) : scope
    if (node.type === 'CatchClause' && node.param) {
      for (const name of namesIn(node.param)) declare(inner, name, node.start)
    }
    if (node.type === 'AssignmentExpression') later.push(() => unfix(node.left, inner))
    if (node.type === 'UpdateExpression') later.push(() => unfix(node.argument, inner))
    if (node.type === 'ForOfStatement' || node.type === 'ForInStatement') {
      const { left } = node
      if (left.type !== 'VariableDeclaration') later.push(() => unfix(left, inner))
    }
    if (node.type === 'Identifier') {
      later.push(() => {
        if (bindings.has(node)) return
        const found = find(node.name, scope)
        if (found) bindings.set(node, found)
      })
    }
    for (const child of childrenOf(node)) visit(child, inner)
  }
  const outermost = open(root, undefined)
  visit(root, outermost)
  for (const job of later) job()

  return {
    bindingOf: (node) => bindings.get(node),
    scopeOf: (node) => scopes.get(node) ?? outermost,
    functions,
  }
}
