import type { AnyNode } from 'acorn'
import { parseExpressionAt } from 'acorn'

import { GuestSyntaxError } from '../engine/engine.ts'
import type { FunctionFrame, PlaceRow, RewriteContext } from './rewrite-context.ts'
import { leaves, placeLines, refuse, returnedText, stepText } from './rewrite-context.ts'
import { expressionText } from './rewrite-expression.ts'
import { declarePattern } from './rewrite-pattern.ts'
import { leaving, statementText } from './rewrite-statement.ts'
import { effectsOf } from './script-effect.ts'
import { scopesOf } from './script-scope.ts'
import type { FunctionNode } from './syntax-tree.ts'
import { childrenOf, isFunction } from './syntax-tree.ts'

/** A script whose values are followed. */
export interface RewrittenScript {
  /** An expression: a function that takes the helpers. */
  readonly code: string
  /** Positions in the code, and those of the script. */
  readonly places: readonly PlaceRow[]
}

/** Nesting of a script, as deep as the thread's stack allows with room to spare. */
const deepest = 400

function parse(wrapped: string): FunctionNode {
  try {
    const node: AnyNode = parseExpressionAt(wrapped, 0, { ecmaVersion: 'latest', locations: true })
    if (isFunction(node) && wrapped.slice(node.end).trim() === ')') return node
    if (isFunction(node) && wrapped.slice(node.end).trim() === '') return node
    throw new GuestSyntaxError(
      'The script closes the function that wraps it. Remove the extra }.',
      undefined,
      undefined,
    )
  } catch (error) {
    if (error instanceof GuestSyntaxError) throw error
    if (error instanceof SyntaxError) {
      // The parser puts the position behind its message.
      const [, message = error.message, line, column] = /^(.*) \((\d+):(\d+)\)$/s.exec(error.message) ?? []
      throw new GuestSyntaxError(
        message,
        line === undefined ? undefined : Number(line),
        column === undefined ? undefined : Number(column) + 1,
      )
    }
    throw new GuestSyntaxError('The script is nested too deeply to be followed.', undefined, undefined)
  }
}

/** Whether a branch of a function may leave it before its end. */
function leavesEarly(node: FunctionNode): boolean {
  if (node.body.type !== 'BlockStatement') return false
  return node.body.body.some((one) => one.type !== 'ReturnStatement' && leaves(one))
}

function checkNames(node: AnyNode, depth: number): void {
  if (depth > deepest)
    throw new GuestSyntaxError('The script is nested too deeply to be followed.', undefined, undefined)
  if (node.type === 'Identifier' && node.name.startsWith('$$')) refuse(node, 'A name that starts with $$')
  for (const child of childrenOf(node)) checkNames(child, depth + 1)
}

/**
 * Writes a script so that every value carries where it comes from: each operator, member, call and branch goes through a
 * helper of the guest. Lines are unchanged. Throws {@link GuestSyntaxError} for a script that does not parse, and for
 * forms of the language that cannot be followed.
 *
 * @param wrapped the script as an async function, without types.
 * @param acting whether a tool acts on the world.
 */
export function rewriteScript(wrapped: string, acting: (tool: string) => boolean): RewrittenScript {
  const root = parse(wrapped)
  checkNames(root, 0)
  const scopes = scopesOf(root)
  const frameOf = (node: FunctionNode, isConstructor: boolean): FunctionFrame => ({
    node,
    temps: [],
    leavesEarly: leavesEarly(node),
    isConstructor,
  })
  const ctx: RewriteContext = {
    scopes,
    effects: effectsOf(scopes, acting),
    frame: frameOf(root, false),
    expression: (node) => expressionText(ctx, node),
    statement: (node, label) => statementText(ctx, node, label),
    functionRest(node, isConstructor = false) {
      const outer = ctx.frame
      ctx.frame = frameOf(node, isConstructor)
      const names: string[] = []
      const taken: string[] = []
      for (const [index, param] of node.params.entries()) {
        if (param.type === 'Identifier') names.push(param.name)
        else if (param.type === 'RestElement') {
          names.push(`...$$a${index}`)
          taken.push(...declarePattern(ctx, param.argument, `$$.j($$a${index}, $$l)`))
        } else if (param.type === 'AssignmentPattern') {
          names.push(`$$a${index}`)
          const filled = `$$.jt($$.raw($$a${index}) === void 0 ? ${ctx.expression(param.right)} : $$a${index}, $$a${index})`
          taken.push(...declarePattern(ctx, param.left, `$$.j(${filled}, $$l)`))
        } else {
          names.push(`$$a${index}`)
          taken.push(...declarePattern(ctx, param, `$$a${index}`))
        }
      }
      const lacks = node.params.some(({ type }) => type === 'RestElement' || type === 'AssignmentPattern')
      const { body } = node
      const early = ctx.frame.leavesEarly
      const inner =
        body.type === 'BlockStatement'
          ? body.body.map((one) => ctx.statement(one)).join(' ')
          : `return ${returnedText(node, ctx.expression(body))};`
      const returns = early && !isConstructor ? 'return $$.j(void 0, $$p);' : ''
      const last = node.generator ? `return ${stepText(node, 'void 0')};` : returns
      const end = `${early ? leaving(ctx) : ''}${last}`
      const temps = ctx.frame.temps.map((name) => `, ${name}`).join('')
      const start = `let $$p = $$.pc()${temps}${early ? ', $$e = $$p' : ''}${node.generator ? ', $$y = $$p' : ''}${lacks ? ', $$l = $$.lacks()' : ''};`
      const params = taken.length > 0 ? ` let ${taken.join(', ')};` : ''
      ctx.frame = outer
      const arrow = node.type === 'ArrowFunctionExpression' ? ' => ' : ' '
      return `(${names.join(', ')})${arrow}{ ${start}${params} ${inner} ${end}}`
    },
  }
  try {
    const text = `(($$) => async ${ctx.functionRest(root)})`
    return placeLines(text)
  } catch (error) {
    if (error instanceof RangeError) {
      throw new GuestSyntaxError('The script is nested too deeply to be followed.', undefined, undefined)
    }
    throw error
  }
}
