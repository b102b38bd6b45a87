import type { AnyNode } from 'acorn'

import type { RewriteContext } from './rewrite-context.ts'
import { branch, keyOf, mark, refuse, temp } from './rewrite-context.ts'
import { assignPattern } from './rewrite-pattern.ts'

type Of<T extends AnyNode['type']> = Extract<AnyNode, { type: T }>

/** The helper for each operator. */
export const operators: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '**': 'pow',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '===': 'eq',
  '!==': 'ne',
  '==': 'leq',
  '!=': 'lne',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
  '<<': 'shl',
  '>>': 'shr',
  '>>>': 'ushr',
  in: 'has',
  instanceof: 'is',
}

/** An assignment to a name, a member or a pattern. */
export function assignment(ctx: RewriteContext, node: Of<'AssignmentExpression'>): string {
  const { left, right, operator } = node
  const logical = operator === '&&=' || operator === '||=' || operator === '??='
  const combine = (old: string): string => {
    if (operator === '=') return ctx.expression(right)
    return `$$.${operators[operator.slice(0, -1)] ?? 'add'}(${old}, ${ctx.expression(right)})`
  }
  const decide = (old: string, set: (code: string) => string): string =>
    branch(ctx, node, [node], old, (value) => {
      const made = set(ctx.expression(right))
      if (operator === '&&=') return { condition: `$$.y(${value})`, yes: made, no: value }
      if (operator === '||=') return { condition: `$$.y(${value})`, yes: value, no: made }
      return { condition: `$$.nil(${value})`, yes: made, no: value }
    })
  if (left.type === 'Identifier') {
    const set = (code: string) => `(${left.name} = $$.j(${code}, $$p))`
    return logical ? decide(left.name, set) : set(combine(left.name))
  }
  if (left.type === 'MemberExpression') {
    if (left.object.type === 'Super') refuse(left, 'An assignment to super')
    const object = temp(ctx)
    if (left.property.type === 'PrivateIdentifier') {
      const { name } = left.property
      const set = (code: string) => `($$.raw(${object}).#${name} = $$.j($$.jt(${code}, ${object}), $$p))`
      const old = `$$.raw(${object}).#${name}`
      return `(${object} = ${ctx.expression(left.object)}, ${logical ? decide(old, set) : set(combine(old))})`
    }
    const key = temp(ctx)
    const set = (code: string) => `$$.s(${mark(left)}${object}, ${key}, ${code}, $$p)`
    const old = `$$.g(${object}, ${key}, $$p)`
    const start = `${object} = ${ctx.expression(left.object)}, ${key} = ${keyOf(ctx, left)}`
    return `(${start}, ${logical ? decide(old, set) : set(combine(old))})`
  }
  const value = temp(ctx)
  return `(${value} = ${ctx.expression(right)}, ${[...assignPattern(ctx, left, value), value].join(', ')})`
}

/** `++` or `--` of a name or a member. */
export function update(ctx: RewriteContext, node: Of<'UpdateExpression'>): string {
  const { argument, operator, prefix } = node
  const change = operator === '++' ? 'inc' : 'dec'
  const old = temp(ctx)
  if (argument.type === 'Identifier') {
    const set = `${argument.name} = $$.j($$.${change}(${old}), $$p)`
    return `(${old} = $$.num(${argument.name}), ${prefix ? set : `${set}, ${old}`})`
  }
  if (argument.type !== 'MemberExpression' || argument.object.type === 'Super') return refuse(node, 'This update')
  const object = temp(ctx)
  if (argument.property.type === 'PrivateIdentifier') {
    const place = `$$.raw(${object}).#${argument.property.name}`
    const set = `${place} = $$.j($$.${change}(${old}), $$p)`
    return `(${object} = ${ctx.expression(argument.object)}, ${old} = $$.num($$.jt(${place}, ${object})), ${prefix ? set : `${set}, ${old}`})`
  }
  const key = temp(ctx)
  const set = `$$.s(${object}, ${key}, $$.${change}(${old}), $$p)`
  return `(${object} = ${ctx.expression(argument.object)}, ${key} = ${keyOf(ctx, argument)}, ${old} = $$.num($$.g(${object}, ${key}, $$p)), ${prefix ? set : `${set}, ${old}`})`
}
