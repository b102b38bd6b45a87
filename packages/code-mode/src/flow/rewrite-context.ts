import type { AnyNode } from 'acorn'

import { GuestSyntaxError } from '../engine/engine.ts'
import type { PartEffect, ScriptEffects } from './script-effect.ts'
import type { Binding, ScriptScopes } from './script-scope.ts'
import type { FunctionNode } from './syntax-tree.ts'
import { childrenOf, isFunction } from './syntax-tree.ts'

/** The function whose body is being written. */
export interface FunctionFrame {
  readonly node: FunctionNode
  /** Names of its temporary variables. */
  readonly temps: string[]
  /** A branch may leave it early, so that what follows the branch depends on its condition. */
  readonly leavesEarly: boolean
  readonly isConstructor: boolean
}

/** What the writers of expressions and statements share. */
export interface RewriteContext {
  readonly scopes: ScriptScopes
  readonly effects: ScriptEffects
  frame: FunctionFrame
  expression(node: AnyNode): string
  statement(node: AnyNode, label?: string): string
  /** A function from its parameters on: `(…) { … }`, or the body of an arrow function behind `=>`. */
  functionRest(node: FunctionNode, isConstructor?: boolean): string
}

let made = 0

/** A new temporary variable of the function. */
export function temp({ frame }: RewriteContext): string {
  const name = `$$${frame.temps.length}`
  frame.temps.push(name)
  return name
}

/** A new name for a constant of a block. */
export function fresh(what: string): string {
  made = (made + 1) % 1_000_000_000
  return `$$${what}${made}`
}

/** Starts the line of the script that a node stands in: see {@link placeLines}. */
export function mark(node: AnyNode): string {
  return `\u0001${node.loc?.start.line ?? 1},${node.loc?.start.column ?? 0}\u0002`
}

/** The line of a node, for messages about a branch. */
export function lineOf(node: AnyNode): number {
  return node.loc?.start.line ?? 1
}

/** A position in the written text, and the position in the script that it belongs to. */
export type PlaceRow = readonly [line: number, column: number, ownLine: number, ownColumn: number]

/** Replaces marks by line breaks, so that each statement keeps its line, and lists the positions. */
export function placeLines(text: string): { readonly code: string; readonly places: readonly PlaceRow[] } {
  const places: PlaceRow[] = []
  let code = ''
  let line = 1
  let column = 1
  for (const piece of text.split('\u0001')) {
    const end = piece.indexOf('\u0002')
    let rest = piece
    if (end >= 0) {
      const [ownLine = 1, ownColumn = 0] = piece.slice(0, end).split(',').map(Number)
      rest = piece.slice(end + 1)
      if (line < ownLine) {
        code += '\n'.repeat(ownLine - line)
        line = ownLine
        column = 1
      }
      places.push([line, column, ownLine, ownColumn + 1])
    }
    code += rest
    const last = rest.lastIndexOf('\n')
    if (last >= 0) {
      line += rest.split('\n').length - 1
      column = rest.length - last
    } else column += rest.length
  }
  return { code, places }
}

/** Whether a variable can be named where a node stands. */
function isVisible(ctx: RewriteContext, binding: Binding, node: AnyNode): boolean {
  if (binding.from >= node.start) return false
  for (let at = ctx.scopes.scopeOf(node); ; at = at.parent) {
    if (at === binding.scope) return true
    if (!at.parent) return false
  }
}

/** What a function returns. The engine would call the `then` of what an async one returns itself, and lose labels. */
export function returnedText({ async, generator }: FunctionNode, value: string): string {
  return async && !generator ? `$$.ret(${value})` : value
}

/**
 * A step of a generator, with the label of all branches so far that decided whether there is one. Readers of an async
 * generator take that label from the value.
 */
export function stepText(generator: FunctionNode, value: string): string {
  const steps = '$$y = $$.u($$y, $$p)'
  return generator.async ? `$$.yi(${value}, ${steps}, $$y)` : `$$.yi(${value}, $$p, ${steps})`
}

/** The expressions that raise the label of all that a part of the script may have changed, taken or not. */
export function mergesOf(ctx: RewriteContext, node: AnyNode, effect: PartEffect): readonly string[] {
  const found: string[] = []
  let leaks = effect.isWild
  for (const binding of effect.writes) {
    if (isVisible(ctx, binding, node)) found.push(`${binding.name} = $$.j(${binding.name}, $$p)`)
    else leaks = true
  }
  for (const binding of effect.mutates) {
    if (isVisible(ctx, binding, node) && !effect.writes.has(binding)) found.push(`$$.raise(${binding.name}, $$p)`)
    else leaks = true
  }
  if (leaks) found.push('$$.leak($$p)')
  if (effect.yields) found.push('$$y = $$.u($$y, $$p)')
  if (effect.acts) found.push('$$.untaken($$p)')
  return found
}

/** Whether a part can be left by `return`, or by a `break` or `continue` whose target is outside of it. */
export function leaves(part: AnyNode): boolean {
  const inside: AnyNode[] = []
  const labels: string[] = []
  const visit = (node: AnyNode): boolean => {
    if (isFunction(node)) return false
    switch (node.type) {
      case 'ReturnStatement':
        return true
      case 'BreakStatement':
      case 'ContinueStatement':
        return node.label ? !labels.includes(node.label.name) : !inside.some((one) => canTarget(one, node.type))
    }
    const isTarget = canTarget(node, 'BreakStatement')
    if (isTarget) inside.push(node)
    if (node.type === 'LabeledStatement') labels.push(node.label.name)
    const left = childrenOf(node).some(visit)
    if (isTarget) inside.pop()
    if (node.type === 'LabeledStatement') labels.pop()
    return left
  }
  return visit(part)
}

function canTarget(node: AnyNode, kind: string): boolean {
  switch (node.type) {
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
      return true
    case 'SwitchStatement':
      return kind === 'BreakStatement'
    default:
      return false
  }
}

/** Refuses a form of the language that values cannot be followed through. */
export function refuse(node: AnyNode, what: string): never {
  throw new GuestSyntaxError(
    `${what} cannot be used where values are followed (flow: 'values').`,
    node.loc?.start.line,
    (node.loc?.start.column ?? 0) + 1,
  )
}

function isPure({ writes, mutates, isWild, acts, yields }: PartEffect): boolean {
  return writes.size === 0 && mutates.size === 0 && !isWild && !acts && !yields
}

/**
 * An expression that takes one of two ways. If a way has effects, they carry the label of the test, and so does what
 * the other way would have changed.
 */
export function branch(
  ctx: RewriteContext,
  node: AnyNode,
  parts: readonly AnyNode[],
  test: string,
  ways: (value: string) => { readonly condition: string; readonly yes: string; readonly no: string },
): string {
  const value = temp(ctx)
  const effect = ctx.effects.of(...parts)
  const { condition, yes, no } = ways(value)
  if (isPure(effect)) return `(${value} = ${test}, $$.jt(${condition} ? ${yes} : ${no}, ${value}))`
  const before = temp(ctx)
  const result = temp(ctx)
  const merges = mergesOf(ctx, node, effect)
  const after = [`${result} = $$.j(${result}, $$p)`, ...merges, `$$p = ${before}`, result].join(', ')
  return `(${before} = $$p, ${value} = ${test}, $$p = $$.br($$p, ${value}, ${lineOf(node)}), ${result} = ${condition} ? ${yes} : ${no}, $$p === ${before} ? ${result} : (${after}))`
}

/** The key of a member, as an expression. */
export function keyOf(ctx: RewriteContext, node: Extract<AnyNode, { type: 'MemberExpression' }>): string {
  const { property, computed } = node
  if (!computed && property.type === 'Identifier') return JSON.stringify(property.name)
  return ctx.expression(property)
}
