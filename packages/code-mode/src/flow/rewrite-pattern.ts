import type { AnyNode } from 'acorn'

import type { RewriteContext } from './rewrite-context.ts'
import { temp } from './rewrite-context.ts'

/** Takes the place of one name or member that a pattern sets. */
type Setter = (target: AnyNode, code: string) => string

/** The steps that take a value apart. `set` writes each step that sets something. */
function steps(ctx: RewriteContext, pattern: AnyNode, value: string, set: Setter): readonly string[] {
  switch (pattern.type) {
    case 'ObjectPattern': {
      const taken: string[] = []
      const found = [`$$.need(${value}, $$p)`]
      for (const one of pattern.properties) {
        if (one.type === 'RestElement') {
          found.push(...into(ctx, one.argument, `$$.rest(${value}, [${taken.join(', ')}], $$p)`, set))
          continue
        }
        const { key, computed } = one
        let name = key.type === 'Identifier' && !computed ? JSON.stringify(key.name) : ctx.expression(key)
        if (computed) {
          const kept = temp(ctx)
          found.push(`${kept} = ${name}`)
          name = kept
        }
        taken.push(name)
        found.push(...into(ctx, one.value, `$$.g(${value}, ${name}, $$p)`, set))
      }
      return found
    }
    case 'ArrayPattern': {
      const list = temp(ctx)
      const ends = pattern.elements.at(-1)?.type === 'RestElement'
      const found = [`${list} = $$.take(${value}, ${ends ? 'Infinity' : pattern.elements.length}, $$p)`]
      for (const [index, one] of pattern.elements.entries()) {
        if (!one) continue
        if (one.type === 'RestElement') found.push(...into(ctx, one.argument, `$$.from(${list}, ${index})`, set))
        else found.push(...into(ctx, one, `${list}[${index}]`, set))
      }
      return found
    }
    default:
      return [set(pattern, value)]
  }
}

function into(ctx: RewriteContext, pattern: AnyNode, code: string, set: Setter): readonly string[] {
  if (pattern.type === 'AssignmentPattern') {
    const value = temp(ctx)
    const filled = `$$.jt($$.raw(${value}) === void 0 ? ${ctx.expression(pattern.right)} : ${value}, ${value})`
    return [`${value} = ${code}`, ...into(ctx, pattern.left, filled, set)]
  }
  if (pattern.type === 'ObjectPattern' || pattern.type === 'ArrayPattern') {
    const value = temp(ctx)
    return [`${value} = ${code}`, ...steps(ctx, pattern, value, set)]
  }
  return [set(pattern, code)]
}

/** The steps that assign the parts of a value to the names and members of a pattern. */
export function assignPattern(ctx: RewriteContext, pattern: AnyNode, value: string): readonly string[] {
  return into(ctx, pattern, value, (target, code) => {
    if (target.type === 'MemberExpression') {
      const { property, computed } = target
      const key = property.type === 'Identifier' && !computed ? JSON.stringify(property.name) : ctx.expression(property)
      return `$$.s(${ctx.expression(target.object)}, ${key}, ${code}, $$p)`
    }
    return `${target.type === 'Identifier' ? target.name : '$$.never'} = $$.j(${code}, $$p)`
  })
}

/** Declarators of `const`, `let` or `var` that take a value apart, in order. */
export function declarePattern(ctx: RewriteContext, pattern: AnyNode, code: string): readonly string[] {
  if (pattern.type === 'Identifier') return [`${pattern.name} = $$.j(${code}, $$p)`]
  const value = temp(ctx)
  const pending: string[] = [`${value} = ${code}`]
  const found: string[] = []
  for (const step of into(
    ctx,
    pattern,
    value,
    (target, made) => `\u0003${target.type === 'Identifier' ? target.name : ''}\u0003${made}`,
  )) {
    if (!step.startsWith('\u0003')) {
      pending.push(step)
      continue
    }
    const [, name = '', made = ''] = step.split('\u0003')
    found.push(`${name} = (${[...pending, `$$.j(${made}, $$p)`].join(', ')})`)
    pending.length = 0
  }
  if (pending.length > 0) found.push(`$$d${ctx.frame.temps.length} = (${[...pending, 'void 0'].join(', ')})`)
  return found
}
